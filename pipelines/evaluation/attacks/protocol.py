"""What an attack is, and the list injection that all of them share.

List injection replaces documents of a fixed result list: the list keeps its length, and nothing
but the named ranks changes (RobustRAG, ReliabilityRAG, RADAR section 5.1).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

from pipelines.evaluation.metrics import is_correct, normalised
from schemas.errors import ConfigurationError
from schemas.snapshot import Document, Labels, SearchSnapshot


class Attack(Protocol):
    """Plants documents in a snapshot. Knows the evaluator's target, never a defence."""

    name: ClassVar[str]

    def poison(
        self, snapshot: SearchSnapshot, *, positions: Sequence[int], k: int | None = None
    ) -> SearchSnapshot:
        """A copy of the snapshot with planted documents at the 1-based ranks `positions`.

        A position after the last document appends. The labels of the copy name the attack and
        the ranks the planted documents really got. Raises ConfigurationError for a position below
        1 or above the retrieval depth `k`, for a snapshot without a target or attacked before,
        and for a target that would count as a right answer.
        """
        ...


def plant(
    snapshot: SearchSnapshot, text: str, *, attack: str, positions: Sequence[int], k: int | None
) -> SearchSnapshot:
    """List injection of one text; see `Attack.poison` for positions, labels and errors."""
    labels = attackable_labels(snapshot)
    if not positions or len(set(positions)) < len(positions):
        raise ConfigurationError(f"positions must be distinct and at least one: {positions}")
    if min(positions) < 1 or (k is not None and max(positions) > k):
        raise ConfigurationError(f"positions {list(positions)} are outside ranks 1 to {k or 'k'}")
    documents = {document.rank: document for document in snapshot.documents}
    planted: list[int] = []
    for position in sorted(positions):
        rank = min(position, max(documents, default=0) + 1)
        documents[rank] = Document(rank=rank, text=text, url=f"https://{attack}.planted.example/")
        planted.append(rank)
    return replace(
        snapshot,
        documents=tuple(documents[rank] for rank in sorted(documents)),
        labels=replace(labels, attack=attack, poisoned_ranks=tuple(planted)),
    )


def attackable_labels(snapshot: SearchSnapshot) -> Labels:
    """The snapshot's labels; raises ConfigurationError when an attack would mean nothing."""
    labels = snapshot.labels
    if labels is None or labels.target is None or not normalised(labels.target):
        raise ConfigurationError(f"{snapshot.id} has no target answer to attack with")
    if labels.attack is not None:
        raise ConfigurationError(f"{snapshot.id} is already attacked ({labels.attack})")
    if is_correct(labels.target, labels):
        raise ConfigurationError(f"the target of {snapshot.id} contains the right answer")
    return labels


def target_of(snapshot: SearchSnapshot) -> str:
    """The answer the attacker wants. Raises ConfigurationError like `attackable_labels`."""
    target = attackable_labels(snapshot).target
    assert target is not None
    return target
