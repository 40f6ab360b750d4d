"""Words on the pages of incidents and attributors, and what they mean."""

from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import ComplaintState, Decision, Status

SCORES = {
    "Similarity": "of the text to the question: the retriever's, or the cosine of their "
    "embeddings.",
    "Question": "semantic correlation: mean log-probability of the question's words after the "
    "text.",
    "Influence": "on the answer: mean log-probability of the wrong answer's words after text and "
    "question.",
    "Combined": "mean of the three, each as standard deviations from the mean of the event. The "
    "texts are split into two groups where that leaves least spread within them; the higher one "
    "is flagged. Other attributors score by other means.",
}

MODEL_ERRED = ("the model erred: no source is to blame", "none")
DECISIONS = {
    Status.UNVERIFIED: ("the pipeline did not give this answer", "none"),
    Status.NOTHING_FLAGGED: ("no text to blame", "none"),
    Status.RESTORED: ("the same answer without the flagged texts: they stay", "none"),
    Status.HUMAN_REVIEW: ("a person must decide", "other"),
    Status.PROPOSED: ("removal proposed", "other"),
    Status.QUARANTINED: ("texts in quarantine", "bad"),
    Status.APPROVED: ("removal approved", "bad"),
    Status.DISMISSED: ("dismissed: the answer is not wrong", "good"),
}
SAID = {
    Decision.APPROVED: "approved",
    Decision.DISMISSED: "dismissed",
    Decision.MODEL_ERRED: "laid to the model",
}
WAITING = {
    ComplaintState.OPEN: ("waits for its attribution", "other"),
    ComplaintState.JUDGED: ("looked at", "none"),
    ComplaintState.UNUSABLE: ("could not be looked into", "none"),
}
NOT_LOOKED = "no texts were looked for"
FINDINGS = {
    Finding.TEXTS_FLAGGED: "texts flagged",
    Finding.NOTHING_FLAGGED: "nothing flagged",
    Finding.INTRINSIC_ERROR: "the model errs by itself",
    Finding.NO_SEPARATION: "no two groups of scores",
    Finding.NO_DOCUMENTS: "no documents",
}
