"""What one query costs ProGRank, and its rivals on the same candidates, with the embedded models.

CPU seconds of this process on one thread of torch, so that other work on the machine counts little;
for the bounded pool also the clock's with a thread a core, for which nothing else may run.
"""

from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import pytest

pytest.importorskip("transformers")

import torch

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.defenses.retrieval.registry import build_reranker
from radarstream.pipelines.build import build_models
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.schemas.retrieval import CandidatePool, Reranking
from tests.benchmarks.figures import Figures
from tests.builders import make_pool

pytestmark = [pytest.mark.bench, pytest.mark.models]

QUESTION = "Who is the mayor of the town of Halden?"
SENTENCE = "The mayor of the town has held the office since the last election in spring. "
SENTENCES = 4  # about as long as the snippet of a search result
CANDIDATES, KEPT = 50, 5
BOUNDED = "prog_rank, bounded pool"
TIMES, TARGET_S = 5, 3.0
HIDING = 5  # candidates that GMTP is timed on; its cost is the same for each


def pool(count: int, start: int) -> CandidatePool:
    texts = [f"Page {start + i}. " + SENTENCE * SENTENCES for i in range(count)]
    return make_pool(texts, keep=KEPT, question=QUESTION)


def test_the_clock_with_a_thread_a_core(figures: Figures, tmp_path: Path) -> None:
    bounded = build_reranker("prog_rank", {"margin": 0.0})
    settings = load_settings(database=f"sqlite:///{tmp_path / 'state.sqlite'}")
    models = build_models(settings, open_engine(settings.database), bounded.needs)
    seconds = []
    for number in range(1 + TIMES):  # weights are loaded in the first
        start = perf_counter()
        drive([bounded.rerank(pool(CANDIDATES, 100 * number))], models)
        seconds.append(perf_counter() - start)
    figures.uses(*(model for model in models.ids.values()))
    told = f"one query of {CANDIDATES} candidates, {BOUNDED}, {torch.get_num_threads()} threads"
    figures.add(told, median(seconds[1:]), "s", ("<", TARGET_S))


def test_a_query_of_fifty_candidates(figures: Figures, tmp_path: Path) -> None:
    methods = {
        BOUNDED: ("prog_rank", {"margin": 0.0}, CANDIDATES),
        "prog_rank": ("prog_rank", {}, CANDIDATES),
        "grada": ("grada", {}, CANDIDATES),
        "gmtp": ("gmtp", {}, HIDING),
        "raguard": ("raguard", {}, CANDIDATES),
        "trust_rag": ("trust_rag", {}, CANDIDATES),
        "attention_variance, leave one out": ("attention_variance", {}, CANDIDATES),
    }
    built = {
        name: build_reranker(method, options) for name, (method, options, _) in methods.items()
    }
    settings = load_settings(database=f"sqlite:///{tmp_path / 'state.sqlite'}")
    needs = frozenset().union(*(reranker.needs for reranker in built.values()))
    models = build_models(settings, open_engine(settings.database), needs)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    drive([built["raguard"].rerank(pool(2, 900)), built["gmtp"].rerank(pool(2, 900))], models)
    drive([built["prog_rank"].rerank(pool(KEPT + 1, 900))], models)  # weights are loaded
    seconds = {}
    for number, (name, (_, _, count)) in enumerate(methods.items()):
        asked = pool(count, 100 * number)  # texts of its own: nothing is cached
        start = process_time()
        (found,) = drive([built[name].rerank(asked)], models)
        seconds[name] = (process_time() - start) * CANDIDATES / (count if name == "gmtp" else 50)
        assert isinstance(found, Reranking) and len(found.candidates) == count
    torch.set_num_threads(threads)
    figures.uses(*(model for model in models.ids.values()))
    base = seconds[BOUNDED]
    for name, taken in seconds.items():
        told = f"one query of {CANDIDATES} candidates, {name}"
        figures.add(told + (", rule of three" if name == "gmtp" else ""), taken, "CPU s")
        figures.add(f"{told}, to the bounded pool", taken / base, "times")
