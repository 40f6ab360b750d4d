"""What a group tells one of its workers: wait for the others, and what was taken away."""

from collections.abc import Collection
from queue import Empty, SimpleQueue
from threading import Event

from kafka import ConsumerRebalanceListener, TopicPartition


class Membership(ConsumerRebalanceListener):  # type: ignore[misc]
    """Notes on the client's thread, for the thread that polls, how the group is being split.

    Nothing is committed on revocation: what was not committed is read again by the next owner,
    which folds nothing twice.
    """

    def __init__(self) -> None:
        self._revoked: SimpleQueue[int] = SimpleQueue()
        self._joined = Event()

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Note them; called before each join, also when the group forgot us."""
        self._joined.clear()
        for place in revoked:
            self._revoked.put(place.partition)

    def on_partitions_assigned(self, _assigned: Collection[TopicPartition]) -> None:
        """Note that the split is done; the client starts at the committed offsets."""
        self._joined.set()

    def joining(self) -> bool:
        """Return whether the group is still being split."""
        return not self._joined.is_set()

    def taken(self) -> set[int]:
        """Return the partitions revoked since the last call."""
        partitions = set()
        while True:
            try:
                partitions.add(self._revoked.get_nowait())
            except Empty:
                return partitions
