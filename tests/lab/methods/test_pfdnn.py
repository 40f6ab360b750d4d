"""PFDNN: two clusters of embeddings, one nearer to the wrong answer."""

import numpy as np
import pytest

from radarstream.defenses.protocol import Embed
from radarstream.lab.methods.pfdnn import Pfdnn
from radarstream.schemas.attribution import Finding
from tests.builders import make_case
from tests.driving import Script, run


def attribute(points, answer, **options):
    """Texts t0, t1, ... at the given points."""
    where = {f"t{i}": point for i, point in enumerate(points)} | {"Rome": answer}
    script = Script(embedding=where.__getitem__)
    event = make_case([f"t{i}" for i in range(len(points))])
    return run(Pfdnn(**options).attribute(event), script), script


EAST, NORTH = (1.0, 0.0), (0.0, 1.0)


def test_the_nearer_cluster_is_flagged():
    points = [EAST, (0.1, 0.9), (0.9, 0.1), NORTH]
    assert attribute(points, (0.8, 0.2))[0].flagged == ("d1", "d3")
    assert attribute(points, (0.2, 0.8))[0].flagged == ("d2", "d4")


def test_scores_are_the_distances_of_the_clusters():
    found, script = attribute([EAST, EAST, NORTH], EAST)
    assert [text.score for text in found.texts] == pytest.approx([0.0, 0.0, -np.sqrt(2.0)])
    assert found.gap == pytest.approx(np.sqrt(2.0))
    assert script.requests == [Embed(("Rome", "t0", "t1", "t2"))]


def test_two_texts():
    assert attribute([EAST, NORTH], NORTH)[0].flagged == ("d2",)


def test_equal_distances_flag_nothing():
    found, _ = attribute([EAST, NORTH], (0.5, 0.5))
    assert found.finding is Finding.NO_SEPARATION


def test_equal_embeddings_flag_nothing():
    found, _ = attribute([EAST] * 4, NORTH)
    assert found.finding is Finding.NO_SEPARATION
    assert found.flagged == ()


@pytest.mark.parametrize("n", [20, 50])
def test_many_texts_are_split_the_same_way_every_time(n: int):
    rng = np.random.default_rng(n)
    points = [tuple(rng.normal(0, 0.1, 3) + (i % 3 == 0)) for i in range(n)]
    found, _ = attribute(points, (1.0, 1.0, 1.0))
    assert found.flagged == tuple(f"d{i + 1}" for i in range(n) if i % 3 == 0)
    assert attribute(points, (1.0, 1.0, 1.0))[0] == found
