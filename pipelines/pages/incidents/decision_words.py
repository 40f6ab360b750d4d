"""Decisions, words and states of incidents, as a reader is told them, with their tones."""

from radarstream.schemas.incidents import ComplaintState, Decision, Status

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
