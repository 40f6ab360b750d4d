"""What searching a corpus costs: milliseconds a question by size."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pytest

from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.state_table.corpus.vectors import store
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import Document

pytestmark = pytest.mark.bench

DIMENSIONS = 384
QUESTIONS = 50
RESULTS = 20
TARGET_MS = 50.0


def topical_rows(count: int, seed: int) -> FloatArray:
    """Unit rows around 1,000 centres, as texts lie around topics: a cosine of about 0.7 to them."""
    centres = np.random.default_rng(0).standard_normal((1_000, DIMENSIONS), dtype=np.float32)
    numbers = np.random.default_rng(seed)
    rows = centres[numbers.integers(0, len(centres), count)]
    rows += numbers.standard_normal((count, DIMENSIONS), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


class TopicalEmbedder:
    """A row for each text from its number, at once, so that what is measured is the corpus."""

    model_id = "topical/1"

    def __init__(self) -> None:
        self.questions = topical_rows(QUESTIONS, 1).astype(np.float64)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self.questions[int(text.split()[-1])] for text in texts])


def filled(path: Path, rows: FloatArray) -> Corpus:
    """A corpus of short texts with these vectors."""
    engine = open_engine(f"sqlite:///{path / 'state.db'}")
    corpus = Corpus(engine)
    for start in range(0, len(rows), 5_000):
        documents = [Document(1, f"text {i}") for i in range(start, min(start + 5_000, len(rows)))]
        corpus.add(documents, 1)
        for part in range(0, len(documents), 500):
            vectors = {
                document.content_id: rows[start + part + i].astype("<f4").tobytes()
                for i, document in enumerate(documents[part : part + 500])
            }
            store(engine, TopicalEmbedder.model_id, vectors)
    return corpus


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_exact_search(benchmark, figures, tmp_path, size):
    """From question to texts, the question's embedding given."""
    corpus, embedder = filled(tmp_path, topical_rows(size, 2)), TopicalEmbedder()
    start = perf_counter()
    corpus.search("question 0", RESULTS, embedder)
    first = perf_counter() - start
    numbers = cycle(range(QUESTIONS))
    found = benchmark(lambda: corpus.search(f"question {next(numbers)}", RESULTS, embedder))
    figures.add(f"corpus of {size:,}: first search", first, "s")
    cpu = process_time()
    for _ in range(QUESTIONS):
        corpus.search(f"question {next(numbers)}", RESULTS, embedder)
    figures.add(f"corpus of {size:,}: search", (process_time() - cpu) / QUESTIONS * 1e3, "CPU ms")
    milliseconds = benchmark.stats["median"] * 1e3
    figures.add(f"corpus of {size:,}: search", milliseconds, "ms", ("<", TARGET_MS))
    assert len(found) == RESULTS
