"""CPU seconds of HotFlip on MiniLM, and on how many of 20 questions it beats where it began."""

from time import process_time

import pytest

from radarstream.lab.attacks.registry import white_box
from radarstream.lab.attacks.whitebox.crafting import craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from tests.benchmarks.figures import Figures
from tests.lab.test_whitebox_hotflip import AIMS

pytestmark = [pytest.mark.bench, pytest.mark.models]


def test_hotflip(figures: Figures) -> None:
    pytest.importorskip("torch")
    from radarstream.lab.models.token_gradients import TokenGradients

    encoder = TokenGradients()
    figures.uses(encoder.model_id)
    encoder.embed(["one"])
    start = process_time()
    crafted = craft(white_box("hotflip"), AIMS, Tools(encoder), count=1)
    seconds = process_time() - start
    results = [result for result in crafted.written if result is not None]
    better = sum(result.after[0] > result.before[0] for result in results)
    gained = sum(result.after[0] - result.before[0] for result in results) / len(results)
    figures.add("HotFlip, one text of 30 steps and 8 candidates", seconds / len(AIMS), "CPU s")
    figures.add("HotFlip, questions of 20 on which the text comes nearer", better, "", (">", 17))
    figures.add("HotFlip, similarity gained", gained, "")
    assert better >= 18
