"""Decisions, words and states of incidents, as a reader is told them, with their tones."""

from radarstream.schemas.reports import Decision, ReportState, Word

MODEL_ERRED = ("the model erred: no source is to blame", "none")
DECISIONS = {
    Decision.UNVERIFIED: ("the pipeline did not give this answer", "none"),
    Decision.NOTHING_FLAGGED: ("no text to blame", "none"),
    Decision.RESTORED: ("the same answer without the flagged texts: they stay", "none"),
    Decision.HUMAN_REVIEW: ("a person must decide", "other"),
    Decision.PROPOSED: ("removal proposed", "other"),
    Decision.QUARANTINED: ("texts in quarantine", "bad"),
    Decision.APPROVED: ("removal approved", "bad"),
    Decision.DISMISSED: ("dismissed: the answer is not wrong", "good"),
}
SAID = {
    Word.APPROVED: "approved",
    Word.DISMISSED: "dismissed",
    Word.MODEL_ERRED: "laid to the model",
}
WAITING = {
    ReportState.OPEN: ("waits for its attribution", "other"),
    ReportState.JUDGED: ("looked at", "none"),
    ReportState.UNUSABLE: ("could not be looked into", "none"),
}
NOT_LOOKED = "no texts were looked for"
# What a person may say about it; the first is what the decision suggests.
VERDICTS = {
    Decision.HUMAN_REVIEW: ("approve", "dismiss", "model-erred"),
    Decision.PROPOSED: ("approve", "dismiss", "model-erred"),
    Decision.NOTHING_FLAGGED: ("model-erred", "dismiss"),
}
