"""Agreement between answers to the same question: read, compare, score."""

from radarstream.connectors.models.answer_agreement.scorer import AnswerAgreement, certain_relation

__all__ = ["AnswerAgreement", "certain_relation"]
