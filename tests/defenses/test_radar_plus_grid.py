"""A slice of the grid of docs/protocol.md: RADAR+ is fooled less often than RADAR, and learns."""

import numpy as np
import pytest

from radarstream.defenses.radar_plus import RadarPlus
from tests.benchmarks.grid import EVENT, STEPS, Row, Step, World, answers, fooled, measured, table

CONTENDERS = "radar:on_empty=abstain,radar_plus"


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    found = measured(CONTENDERS, [3], every=29)
    return {name.partition(":")[0]: part for name, part in found.items()}


def test_radar_plus_is_fooled_less_often(rows: dict[str, list[Row]]):
    assert 0 < fooled(rows["radar_plus"]) < fooled(rows["radar"])


def test_both_see_the_same_worlds_and_a_seed_says_which(rows: dict[str, list[Row]]):
    assert [r.world for r in rows["radar"]] == [r.world for r in rows["radar_plus"]]
    world = rows["radar"][0].world
    again = World(**{name: getattr(world, name) for name in world.__dataclass_fields__})
    for step in range(STEPS):
        one, two = Step(world, step).evidence, Step(again, step).evidence
        assert one.documents == two.documents
        np.testing.assert_array_equal(one.relations.entailment, two.relations.entailment)


@pytest.mark.parametrize("n", [3, 10])
def test_without_errors_and_attack_the_truth_is_told_and_news_are_learned(n: int):
    world = World(n, "own", error=0.0, knowing=1.0)
    given = answers(RadarPlus(), [Step(world, step) for step in range(STEPS)])
    row = Row(world, given)
    assert all(row.right[:EVENT])
    assert row.delay <= 1


def test_the_table_has_a_column_per_contender(rows: dict[str, list[Row]]):
    lines = table(rows).splitlines()
    assert lines[0] == "| | radar | radar_plus |"
    assert any(line.startswith("| fooled |") for line in lines)
