"""Has this record been folded already, does it come too late, or is it next?"""

from typing import Literal

from radarstream.connectors.state_table.queries.memory import MemoryRow

Decision = Literal["fold", "replayed", "late"]


def order_decision(
    row: MemoryRow | None, as_of_ms: int, log_epoch: str, log_partition: int, log_offset: int
) -> Decision:
    """Decide what becomes of one record, given what its query's row has folded so far.

    A query observed at one moment is one snapshot, however often it is published; records are
    folded in ascending event time, so what is newer than the row cannot have been folded and is,
    whatever its offset. For what is older, offsets tell a record read again from one that comes
    too late, and they mean something only within one log, that is one epoch and one partition:

    ==========  ===============================  ================================
    event time  same log                         another log
    ==========  ===============================  ================================
    newer       fold                             fold
    equal       replayed                         replayed
    older       replayed up to log_high_offset,  late: its offsets restarted, so
                else late                        nothing says it was folded
    ==========  ===============================  ================================

    "replayed" is skipped in silence, "late" becomes a dead letter. A late record must reach the
    outbox no later than the fold that follows it in the log, or a crash between the two turns it
    into a replay: append it first, or pass both to one `commit_fold`.
    """
    if row is None or as_of_ms > row.as_of_ms:
        return "fold"
    if as_of_ms == row.as_of_ms:
        return "replayed"
    same_log = (log_epoch, log_partition) == (row.log_epoch, row.log_partition)
    return "replayed" if same_log and log_offset <= row.log_high_offset else "late"
