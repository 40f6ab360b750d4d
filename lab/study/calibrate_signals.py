"""Measure what is usual of harmless questions: `python -m …evaluation.calibrate_signals`.

RADARSTREAM_DATA is the directory of the data sets. Prints how often the wordings of attacks are
found in questions that mean no harm; M_DIS and the largest ROUGE-L of the results of RealTimeQA
(development half), without planted texts and with them; what TrustRAG's filter drops of those
results; and how often small corpora of them are called unusual. The defaults of
`defenses.orchestration.signals.Usual` and of `schemas.orchestration.TrustragPlan` come from here.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.defenses.kernels.rouge import rouge_l
from radarstream.defenses.kernels.spread import dispersion, robust_z
from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.orchestration.strategist import RHO
from radarstream.defenses.orchestration.wordings import asks_verbatim, fills_masks
from radarstream.defenses.protocol import Asking
from radarstream.defenses.trust_rag import KEPT, TooMuchAlike
from radarstream.lab.study.datasets import load_dataset
from radarstream.lab.study.halves import Half, in_half
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Reason

FILES = ("realtimeqa_dev.json", "poisonedrag_nq.json", "biogen_dev.json")
RESULTS = 10
PERCENTILES = (5, 50, 95)
PAGES = (1, 2, 3, 5, 10)  # of each question, in a small corpus
PLANTED = (0, 3, 5)


def false_alarms(data: Path) -> str:
    """How often the patterns match questions that mean no harm."""
    questions = []
    for name in FILES:
        items = json.loads((data / name).read_text("utf-8"))
        questions += [i["question"] for i in (items.values() if isinstance(items, dict) else items)]
    gaps, texts = sum(map(fills_masks, questions)), sum(map(asks_verbatim, questions))
    return f"of {len(questions)} questions {gaps} fill gaps, {texts} ask for texts"


def planted_for(snapshot: SearchSnapshot) -> list[str]:
    """The falsehoods of a question, as an attacker plants them: the question first."""
    false = snapshot.labels.false_passages if snapshot.labels else ()
    return [f"{snapshot.query.text} {text}" for text in false]


def measured(lists: Sequence[Sequence[str]], embedder: SentenceEmbedder) -> tuple[FloatArray, ...]:
    """M_DIS and the largest ROUGE-L of each list of texts."""
    spread = [dispersion(np.asarray(embedder.embed(list(texts)))) for texts in lists]
    return np.array(spread), np.array([rouge_l(texts).max() for texts in lists])


def dropped(lists: Sequence[FloatArray], texts: Sequence[Sequence[str]], rho: float) -> str:
    """What TrustRAG's filter drops of lists that nobody attacked."""
    rules = TooMuchAlike(overlap_threshold=rho)
    gone = np.array(
        [
            sum(reason not in KEPT for reason in judged(rules.judge(tuple(own)), rows))
            for own, rows in zip(texts, lists, strict=True)
        ]
    )
    lost = gone.sum() / RESULTS / len(gone)
    return f"{np.mean(gone > 0):.0%} of lists lose a document, {lost:.1%} of documents are lost"


def judged(asking: Asking[list[Reason]], rows: FloatArray) -> list[Reason]:
    """The reasons of a filter that asks for embeddings at most."""
    try:
        next(asking)
        asking.send(rows)
    except StopIteration as stop:
        reasons: list[Reason] = stop.value
        return reasons
    raise AssertionError


def unusual(questions: FloatArray, lies: Sequence[FloatArray], pages: FloatArray, k: int) -> str:
    """How often what is found among `pages` is beyond two robust standard deviations, per side.

    (n, d) questions and one (5, d) array of planted texts for each, (m, d) pages.
    """
    told = []
    for planted in PLANTED:
        z = []
        for question, own in zip(questions, lies, strict=True):
            corpus = np.concatenate([own[:planted], pages])
            found = corpus[np.argsort(-(corpus @ question))[:k]]
            z.append(Usual(spread=True).z(dispersion(found)))
        more, less = np.mean(np.array(z) <= -2.0), np.mean(np.array(z) >= 2.0)
        told.append(f"{planted} planted: more alike {more:.0%}, less alike {less:.0%}")
    return "; ".join(told)


def tell(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def main() -> None:
    """Print the measurements."""
    data = Path(os.environ["RADARSTREAM_DATA"])
    tell(false_alarms(data))
    embedder = SentenceEmbedder(None)
    histories = in_half(load_dataset(data / FILES[0]).histories, Half.DEVELOPMENT)
    asked = [history[-1] for history in histories if len(history[-1].documents) >= RESULTS]
    usual = [[d.passage for d in snapshot.documents[:RESULTS]] for snapshot in asked]
    spread, overlap = measured(usual, embedder)
    median = float(np.median(spread))
    mad = float(np.median(np.abs(spread - median)))
    z = np.abs([robust_z(value, median, mad) for value in spread])
    tell(f"{len(asked)} lists: M_DIS median {median:.3f}, MAD {mad:.3f}")
    tell(f"|z| 95th percentile {np.percentile(z, 95):.2f}")
    tell(f"largest ROUGE-L {np.percentile(overlap, PERCENTILES).round(2)} at {PERCENTILES} %")
    for planted in (1, 3, 5):
        lists = []
        for snapshot, texts in zip(asked, usual, strict=True):
            lists.append([*planted_for(snapshot)[:planted], *texts][:RESULTS])
        spread, overlap = measured(lists, embedder)
        z = np.array([robust_z(value, median, mad) for value in spread])
        tell(
            f"{planted} planted: z {np.percentile(z, PERCENTILES).round(2)}, "
            f"ROUGE-L {np.percentile(overlap, PERCENTILES).round(2)}"
        )
    tell_of_filters(asked, usual, embedder)


def tell_of_filters(
    asked: Sequence[SearchSnapshot], usual: Sequence[Sequence[str]], embedder: SentenceEmbedder
) -> None:
    """Print what TrustRAG's filter drops, and how often small corpora are unusual."""
    rows = [np.asarray(embedder.embed(texts)) for texts in usual]
    for rho in (*RHO.values(), 0.5):
        tell(f"TrustRAG's filter, rho {rho}: {dropped(rows, usual, rho)}")
    questions = np.asarray(embedder.embed([snapshot.query.text for snapshot in asked]))
    lies = [np.asarray(embedder.embed(planted_for(snapshot)[:5])) for snapshot in asked]
    for pages in PAGES:
        corpus = np.concatenate([own[:pages] for own in rows])
        for k in (3, 5, 10):
            told = unusual(questions, lies, corpus, k)
            tell(f"corpus of {len(corpus)} pages, {k} found: {told}")


if __name__ == "__main__":
    main()
