"""Names that `attribution`, `sources` and the reports still import from here."""

from dataclasses import dataclass

from radarstream.pipelines.evaluation.rates import Rate, wilson_interval
from radarstream.pipelines.evaluation.scoring import Definition, is_correct, is_fooled, is_refusal
from radarstream.schemas.snapshot import Labels

__all__ = ["Rate", "Response", "contains_target", "is_correct", "is_refusal", "wilson_interval"]

DEFINITION = Definition.WHOLE_WORDS.label
MEANING = Definition.WHOLE_WORDS.meaning


def is_attacked(text: str, labels: Labels) -> bool:
    """Whether a text names the attacker's target; see `is_fooled`."""
    return is_fooled(text, labels.target)


def states(text: str, target: str) -> bool:
    """Whether a text names the target; see `is_fooled`."""
    return is_fooled(text, target)


@dataclass(frozen=True, slots=True)
class Response:
    """A scored response: None is an abstention."""

    text: str | None
    labels: Labels

    def correct(self) -> bool:
        """Whether it names a right answer."""
        return is_correct(self.text, self.labels)

    def attacked(self) -> bool:
        """Whether it gives the attacker what they want."""
        return is_fooled(self.text, self.labels.target)


def contains_target(response: Response) -> bool:
    """Whether the target is anywhere in it, also within a word."""
    return is_fooled(response.text, response.labels.target, strict=False)
