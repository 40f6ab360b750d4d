"""CPU seconds for sentence embeddings: in numpy, and in sentence-transformers for comparison."""

from time import process_time

import pytest

from radarstream.connectors.models.sentence_embedder import SentenceEmbedder, minilm_directory
from tests.benchmarks.figures import Figures

pytestmark = [pytest.mark.bench, pytest.mark.models]


@pytest.mark.parametrize("count", [130, 1000])
@pytest.mark.parametrize("runtime", ["numpy", "sentence-transformers"])
def test_embeddings(figures: Figures, runtime: str, count: int) -> None:
    if runtime != "numpy":
        pytest.importorskip("sentence_transformers")
    texts = [
        f"The mayor of town {i} is {'Ann Lee ' * (i % 7)} since {1900 + i}" for i in range(count)
    ]
    embedder = SentenceEmbedder(None if runtime == "numpy" else minilm_directory())
    figures.uses(embedder.model_id)
    embedder.embed(["one"])
    start = process_time()
    assert embedder.embed(texts).shape == (count, 384)
    figures.add(f"embeddings of {count} texts, {runtime}", process_time() - start, "CPU s")
