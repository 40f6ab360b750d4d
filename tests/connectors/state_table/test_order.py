"""Which records are folded: the table of decisions, and a hostile log against a query's row."""

from radarstream.connectors.state_table.queries.memory import MemoryRow, order_decision

ROW = MemoryRow("q-1", "radar", 3, 1_000, "cluster-a", 2, 50, b"", log_high_offset=60)


def test_decision_table() -> None:
    for as_of_ms, epoch, partition, offset, decision in [
        (1_001, "cluster-a", 2, 51, "fold"),
        (1_001, "cluster-a", 2, 49, "fold"),  # held back while older records were folded
        (1_000, "cluster-a", 2, 61, "replayed"),  # published twice
        (1_000, "cluster-a", 2, 49, "replayed"),
        (999, "cluster-a", 2, 61, "late"),
        (999, "cluster-a", 2, 60, "replayed"),
        (999, "cluster-a", 2, 49, "replayed"),
        (1_001, "cluster-b", 2, 0, "fold"),  # a re-created broker: offsets restart
        (1_000, "cluster-b", 2, 0, "late"),  # the same snapshot, copied to a fresh log
        (999, "cluster-b", 2, 51, "late"),
        (1_001, "cluster-a", 0, 0, "fold"),  # the topic was given other partitions
        (1_000, "cluster-a", 0, 51, "late"),
        (999, "cluster-a", 0, 0, "late"),
    ]:
        assert order_decision(ROW, as_of_ms, epoch, partition, offset) == decision
    assert order_decision(None, 0, "cluster-a", 0, 0) == "fold"
