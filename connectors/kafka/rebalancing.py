"""Which partitions a group took away from us."""

from collections.abc import Collection
from queue import Empty, SimpleQueue

from kafka import ConsumerRebalanceListener, TopicPartition


class Revocations(ConsumerRebalanceListener):  # type: ignore[misc]
    """Collects revoked partitions on the client's thread, for the thread that polls.

    Nothing is committed on revocation: what was not committed is read again by the next owner,
    which folds nothing twice.
    """

    def __init__(self) -> None:
        self._revoked: SimpleQueue[int] = SimpleQueue()

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Note them; called between two answers, also when the group forgot us."""
        for place in revoked:
            self._revoked.put(place.partition)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Do nothing: the client starts at the committed offsets, or the earliest."""

    def taken(self) -> set[int]:
        """Return the partitions revoked since the last call."""
        partitions = set()
        while True:
            try:
                partitions.add(self._revoked.get_nowait())
            except Empty:
                return partitions
