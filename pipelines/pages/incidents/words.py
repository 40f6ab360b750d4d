"""Words on the pages of incidents, sources and attributors, and what they mean."""

from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import ComplaintState, Decision, Status
from radarstream.schemas.sources import EventKind

INCIDENTS, SOURCES = "attributions.html", "sources.html"
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
DECIDED = {
    "Quarantine": "the text is left out of snapshots from now on. It can be released.",
    "Without flagged": "the answer to the same question once the flagged texts are gone. Where it "
    "is still the wrong answer, those texts are not to blame and stay.",
}
LEDGER = {
    "Reliability": "the probability that a source is right: the mean of a Beta distribution over "
    "the evidence for and against it. It starts at four for and one against; evidence fades.",
    "Blamed": "for so many wrong answers, each taught by a text of the source. One event counts "
    "at most once, however many texts took part, and no day counts without limit.",
    "Agreement": "the source supported an answer that the next snapshot confirmed. Its single "
    "days are kept for some weeks; older agreement is in the sum, and the curve draws it from "
    "the first day that is kept.",
    "Blocked": "a person said so: its texts are left out.",
    "Pardoned": "a person said so: it is judged as if nothing were known.",
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
# What a person may say about it; the first is what the decision suggests.
VERDICTS = {
    Status.HUMAN_REVIEW: ("approve", "dismiss", "model-erred"),
    Status.PROPOSED: ("approve", "dismiss", "model-erred"),
    Status.NOTHING_FLAGGED: ("model-erred", "dismiss"),
}
FINDINGS = {
    Finding.TEXTS_FLAGGED: "texts flagged",
    Finding.NOTHING_FLAGGED: "nothing flagged",
    Finding.INTRINSIC_ERROR: "the model errs by itself",
    Finding.NO_SEPARATION: "no two groups of scores",
    Finding.NO_DOCUMENTS: "no documents",
}
KINDS = {  # what the ledger holds about a source, and its tone
    EventKind.CONFIRMED: ("taught a wrong answer, confirmed by people", "bad"),
    EventKind.DETECTED: ("taught a wrong answer, found by the pipeline alone", "other"),
    EventKind.AGREEMENT: ("supported answers that the next snapshot confirmed", "good"),
    EventKind.RETRACTED: ("was blamed, and the blame was taken back", "none"),
}
