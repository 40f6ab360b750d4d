"""Measure what is usual of harmless questions: `python -m …evaluation.calibrate_signals`.

RADARSTREAM_DATA is the directory of the data sets. Prints how often the wordings of attacks are
found in questions that mean no harm, and M_DIS and the largest ROUGE-L of the results of RealTimeQA
(development half), without planted texts and with them: the defaults of
`defenses.orchestration.signals.Usual`.
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
from radarstream.defenses.orchestration.wordings import asks_verbatim, fills_masks
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.halves import Half, in_half
from radarstream.schemas.evidence import FloatArray

FILES = ("realtimeqa_dev.json", "poisonedrag_nq.json", "biogen_dev.json")
RESULTS = 10
PERCENTILES = (5, 50, 95)


def false_alarms(data: Path) -> str:
    """How often the patterns match questions that mean no harm."""
    questions = []
    for name in FILES:
        items = json.loads((data / name).read_text("utf-8"))
        questions += [i["question"] for i in (items.values() if isinstance(items, dict) else items)]
    gaps, texts = sum(map(fills_masks, questions)), sum(map(asks_verbatim, questions))
    return f"of {len(questions)} questions {gaps} fill gaps, {texts} ask for texts"


def measured(lists: Sequence[Sequence[str]], embedder: SentenceEmbedder) -> tuple[FloatArray, ...]:
    """M_DIS and the largest ROUGE-L of each list of texts."""
    spread = [dispersion(np.asarray(embedder.embed(list(texts)))) for texts in lists]
    return np.array(spread), np.array([rouge_l(texts).max() for texts in lists])


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
            false = snapshot.labels.false_passages[:planted] if snapshot.labels else ()
            lies = [f"{snapshot.query.text} {text}" for text in false]
            lists.append([*lies, *texts][:RESULTS])
        spread, overlap = measured(lists, embedder)
        z = np.array([robust_z(value, median, mad) for value in spread])
        tell(
            f"{planted} planted: z {np.percentile(z, PERCENTILES).round(2)}, "
            f"ROUGE-L {np.percentile(overlap, PERCENTILES).round(2)}"
        )


if __name__ == "__main__":
    main()
