"""What certifiers share: the documents a defence saw, and certificates with their options."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from radarstream.schemas.certificate import Assumption, Certificate, Enough, FlipBound
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.verdict import DocumentVerdict, Reason

_UNSEEN = (Reason.BLOCKED, Reason.QUARANTINED)


def seen_documents(event: AnswerEvent) -> tuple[DocumentVerdict, ...]:
    """The verdicts of the documents that the defence was shown, in rank order."""
    seen = (document for document in event.verdict.documents if document.reason not in _UNSEEN)
    return tuple(sorted(seen, key=lambda document: document.rank))


def options_of(defense: Any) -> str:
    """The options of a defence as JSON."""
    return json.dumps(asdict(defense), sort_keys=True)


def proved(
    defense: Any,
    bounds: Sequence[FlipBound],
    assumptions: Sequence[Assumption],
    deceived: Enough | None = None,
) -> Certificate:
    """A certificate with bounds.

    `min_support` may silence an answer that the defence itself still gives, so silence is never
    counted as a change.
    """
    assumed = (*assumptions, Assumption.SILENCE)
    return Certificate(options_of(defense), tuple(bounds), assumed, deceived=deceived)


def unproved(defense: Any, reason: str) -> Certificate:
    """A certificate that says why there are none."""
    return Certificate(options_of(defense), reason=reason)
