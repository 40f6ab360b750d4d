"""Fit the coefficients of the answer-agreement scorer and measure them on questions held back.

Run `python -m radarstream.pipelines.evaluation.calibrate_agreement [--write] [--check]
[--json FILE]`. The data are public: the PoisonedRAG questions on Natural Questions and the
RealTimeQA questions as the RobustRAG family ships them, found through RADARSTREAM_DATA. Pairs of
answers to one question are labelled by where they come from (equivalent, wrong, list and member,
abstention), questions are split into thirds with a fixed seed, two thirds are fitted and the last
one is measured.
"""

import argparse
import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.answer_agreement.scorer import (
    CLASSES,
    COEFFICIENTS,
    FEATURES,
    compare_pair,
    feature_rows,
    read_coefficients,
    softmax,
)
from radarstream.connectors.models.embedder import Embedder
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.pipelines.evaluation.answer_variants import (
    COORDINATES,
    SYNONYMS,
    coarser,
    equivalents,
    near_miss,
    vocabulary,
)
from radarstream.pipelines.evaluation.halves import question_digest
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

SEED = 20_260_101
INVERSE_PENALTY = 30.0  # of the L2 term; by log loss between halves of the fitted thirds
FILES = ("poisonedrag_nq.json", "realtimeqa_dev.json")
TOLERANCE = 2e-3  # between the coefficients of two machines
ENTAILS, NEUTRAL, CONTRADICTS = range(3)
UNRELATED_PER_QUESTION = 3
VOCABULARY = "vocabulary"
# Weight of a question's pairs of one kind. Coarse dates stand for every elaboration that a page
# may add to an answer, most of which are agreement: they count for less.
KIND_WEIGHT = {"coarse to fine": 0.4, VOCABULARY: 0.08}
ABSTENTIONS = ("I don't know", "I don\u2019t know.", "The passage does not mention it.")


Labelled = tuple[str, str, int, str, bool]  # premise, hypothesis, then as in `Pair`


@dataclass(frozen=True, slots=True)
class Item:
    """One question, answers that mean the same, and answers that are wrong."""

    question: str
    correct: tuple[str, ...]
    incorrect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair. `kind` names the source of the label, `raw` that no variant was made up."""

    pair: AnswerPair
    label: int
    kind: str
    raw: bool


@dataclass(frozen=True, eq=False)
class Sample:
    """Pairs with their features, labels and weights; each question and kind weighs alike."""

    pairs: list[Pair]
    rows: FloatArray
    labels: NDArray[np.int64]
    weights: FloatArray


def data_directory() -> Path:
    """Directory of the evaluation data; ConfigurationError names what is missing."""
    directory = Path(os.environ.get("RADARSTREAM_DATA", "../shared/data"))
    for name in FILES:
        if not (directory / name).is_file():
            raise ConfigurationError(f"{directory / name} is missing: set RADARSTREAM_DATA")
    return directory


def read_items(directory: Path) -> list[Item]:
    """Questions of both sets, in file order."""
    nq = json.loads((directory / FILES[0]).read_text(encoding="utf-8"))
    rqa = json.loads((directory / FILES[1]).read_text(encoding="utf-8"))
    items = [
        Item(entry["question"], (entry["correct answer"],), (entry["incorrect answer"],))
        for entry in nq.values()
    ]
    return items + [_realtime_item(entry) for entry in rqa]


def _realtime_item(entry: dict[str, Any]) -> Item:
    """Expanded answers were written by a model: those that match a wrong answer are dropped."""
    wrong = entry["incorrect answer"]
    expanded = entry.get("expanded answer") or []
    expanded = ast.literal_eval(expanded) if isinstance(expanded, str) else expanded
    folded = wrong.casefold()
    unlike = [a for a in expanded if a.casefold() not in folded and folded not in a.casefold()]
    correct = [*entry["correct answer"], *unlike]
    right = {int(i) for i in entry.get("choices answer") or ()}
    others = [c for i, c in enumerate(entry["choices"]) if i not in right]
    known = {_bare(answer) for answer in correct}
    incorrect = [wrong, *(c for c in others if _bare(c) not in known)]
    return Item(entry["question"], tuple(dict.fromkeys(correct)), tuple(dict.fromkeys(incorrect)))


def _bare(answer: str) -> str:
    return "".join(char for char in answer.casefold() if char.isalnum())


def labelled_pairs(item: Item, unrelated: Sequence[str]) -> list[Pair]:
    """Every pair of one question once, in both directions where the label has two."""
    right, wrong = item.correct[0], item.incorrect[0]
    rights = [*item.correct, *equivalents(item.question, right)]
    rewordings = equivalents(item.question, wrong)
    made = [
        *_agreeing(rights, len(item.correct)),
        *_agreeing([wrong, *rewordings], 1),
        *_composed(right, wrong),
    ]
    for i, a in enumerate(rights):
        for j, b in enumerate([*item.incorrect, *rewordings]):
            raw = i < len(item.correct) and j < len(item.incorrect)
            made += _both_ways(a, b, CONTRADICTS, "wrong" if raw else "wrong reworded", raw=raw)
    for other in unrelated:
        made += _both_ways(right, other, CONTRADICTS, "unrelated", raw=True)
    for abstention in ABSTENTIONS:
        for answer in (right, wrong):
            made += _both_ways(answer, abstention, NEUTRAL, "abstention")
    return list(
        dict.fromkeys(
            Pair(AnswerPair(item.question, a, b), label, kind, raw)
            for a, b, label, kind, raw in made
        )
    )


def _both_ways(a: str, b: str, label: int, kind: str, *, raw: bool = False) -> list[Labelled]:
    return [(a, b, label, kind, raw), (b, a, label, kind, raw)]


def _agreeing(answers: Sequence[str], published: int) -> Iterator[Labelled]:
    """All pairs of equivalent answers, the first of which were published."""
    for i, a in enumerate(answers):
        for j, b in enumerate(answers[: i + 1]):
            raw = j < i < published
            kind = "identical" if i == j else "expanded" if raw else "reworded"
            yield from _both_ways(a, b, ENTAILS, kind, raw=raw)


def _composed(right: str, wrong: str) -> Iterator[Labelled]:
    """Lists against their members, and denials against what they deny."""
    if _bare(right) in {"yes", "no"}:
        return
    both = f"{right} and {wrong}"
    for member in (right, wrong):
        yield both, member, ENTAILS, "list to member", False
        yield member, both, NEUTRAL, "member to list", False
    yield from _both_ways(right, f"not {right}", CONTRADICTS, "denial")
    for miss in near_miss(right, wrong):
        yield from _both_ways(right, miss, CONTRADICTS, "near miss")
    for coarse in coarser(right):
        yield right, coarse, ENTAILS, "fine to coarse", False
        yield coarse, right, NEUTRAL, "coarse to fine", False


def split(items: list[Item]) -> tuple[list[Item], list[Item]]:
    """Two thirds of the questions to fit on and the third that is held back; fixed seed."""
    order = np.random.default_rng(SEED).permutation(len(items))
    cut = 2 * len(items) // 3
    return [items[i] for i in order[:cut]], [items[i] for i in order[cut:]]


def vocabulary_pairs(*, held_back: bool) -> list[Pair]:
    """Synonyms and their neighbours; every third entry is held back."""
    return [
        Pair(AnswerPair("Which one is it?", *pair), label, VOCABULARY, False)
        for table, label in ((SYNONYMS, ENTAILS), (COORDINATES, CONTRADICTS))
        for i, entry in enumerate(vocabulary(table))
        if (i % 3 == 2) is held_back
        for pair in (entry, entry[::-1])
    ]


def sample(
    items: list[Item], words: list[Pair], embedder: Embedder, *, ruled: bool = True
) -> Sample:
    """All labelled pairs of some questions, and vocabulary pairs, with their features.

    They are those the scorer uses, or with `ruled` False those that its coefficients are fitted on.
    """
    rng = np.random.default_rng(SEED)
    pairs: list[Pair] = []
    weights: list[float] = []
    for item in items:
        others = [other.correct[0] for other in items if other is not item]
        chosen = rng.choice(len(others), size=UNRELATED_PER_QUESTION, replace=False)
        found = labelled_pairs(item, [others[i] for i in chosen])
        kinds = [pair.kind for pair in found]
        pairs += found
        weights += [KIND_WEIGHT.get(kind, 2.0) / kinds.count(kind) for kind in kinds]
    pairs += words
    weights += [KIND_WEIGHT[VOCABULARY]] * len(words)
    rows = feature_rows([compare_pair(pair.pair) for pair in pairs], embedder, ruled=ruled)
    labels = np.array([pair.label for pair in pairs], dtype=np.int64)
    return Sample(pairs, rows, labels, np.array(weights))


def fit(rows: FloatArray, labels: NDArray[np.int64], weights: FloatArray) -> FloatArray:
    """(3, features) weights of the penalised multinomial logistic regression, no intercept."""
    try:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigurationError("calibration needs scikit-learn: pip install '.[test]'") from error
    model = LogisticRegression(C=INVERSE_PENALTY, fit_intercept=False, max_iter=5_000, tol=1e-8)
    model.fit(rows, labels, sample_weight=weights)
    return np.asarray(model.coef_, dtype=np.float64)


def without_cosine(rows: FloatArray) -> FloatArray:
    """The same features as the scorer sees them when it has no embedder."""
    return rows * [not name.endswith("cosine") for name in FEATURES]


def figures(probabilities: FloatArray, labels: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, one-against-rest AUC, expected calibration error and the tails RADAR feels."""
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

    contradicting = probabilities[labels == CONTRADICTS]
    entailing = probabilities[labels == ENTAILS]
    return {
        "pairs": float(len(labels)),
        "accuracy": float((probabilities.argmax(axis=1) == labels).mean()),
        "auc_entailment": float(roc_auc_score(labels == ENTAILS, probabilities[:, ENTAILS])),
        "auc_contradiction": float(
            roc_auc_score(labels == CONTRADICTS, probabilities[:, CONTRADICTS])
        ),
        "expected_calibration_error": expected_calibration_error(probabilities, labels),
        "wrong_pairs_entailed_over_0.02": float((contradicting[:, ENTAILS] > 0.02).mean()),
        "wrong_pairs_mean_entailment": float(contradicting[:, ENTAILS].mean()),
        "same_pairs_entailed_over_0.9": float((entailing[:, ENTAILS] >= 0.9).mean()),
    }


def expected_calibration_error(
    probabilities: FloatArray, labels: NDArray[np.int64], bins: int = 10
) -> float:
    """Mean gap between confidence and accuracy over equal-width bins (Guo et al., 2017)."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(bin_of, confidence - right)).sum() / len(labels))


def calibrate() -> dict[str, Any]:
    """Fit both variants and measure them; the result is what `coefficients.json` holds."""
    directory = data_directory()
    embedder = SentenceEmbedder()
    fitted_items, held_items = split(read_items(directory))
    fitted = sample(fitted_items, vocabulary_pairs(held_back=False), embedder, ruled=False)
    held = sample(held_items, vocabulary_pairs(held_back=True), embedder)
    raw = np.array([pair.raw for pair in held.pairs])
    weights, measured = {}, {}
    # Without an embedder nothing tells synonyms apart: they would only blur the fit.
    reworded = np.array([pair.kind != VOCABULARY for pair in fitted.pairs])
    every = np.ones_like(reworded)
    for variant, view, used in (
        ("with_cosine", np.copy, every),
        ("lexical", without_cosine, reworded),
    ):
        table = fit(view(fitted.rows[used]), fitted.labels[used], fitted.weights[used])
        weights[variant] = np.round(table, 4).tolist()
        scores = softmax(view(held.rows) @ np.array(weights[variant]).T)
        measured[variant] = {
            "held_back": figures(scores, held.labels),
            "held_back_as_published": figures(scores[raw], held.labels[raw]),
        }
    return {
        "features": list(FEATURES),
        "classes": list(CLASSES),
        "weights": weights,
        "provenance": {
            "model": "multinomial logistic regression, L2, no intercept",
            "inverse_penalty": INVERSE_PENALTY,
            "seed": SEED,
            "data_sha256": {
                name: sha256((directory / name).read_bytes()).hexdigest() for name in FILES
            },
            "questions": {"fitted": len(fitted_items), "held_back": len(held_items)},
            "fitted_on": f"answers to {len(fitted_items)} questions of PoisonedRAG (Natural "
            "Questions) and RealTimeQA",
            "questions_sha256": sorted(question_digest(item.question) for item in fitted_items),
            "fitted_pairs": len(fitted.pairs),
            "embedder": embedder.model_id,
        },
        "figures": measured,
    }


def check(table: dict[str, Any], path: Path = COEFFICIENTS) -> list[str]:
    """Names of the variants whose checked-in coefficients differ from a fresh fit."""
    return [
        variant
        for variant, weights in table["weights"].items()
        if not np.allclose(read_coefficients(path, variant), weights, rtol=0.0, atol=TOLERANCE)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, print the figures as JSON; exit status 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--json", type=Path, help="also write coefficients and figures here")
    parser.add_argument("--write", action="store_true", help="replace the checked-in coefficients")
    parser.add_argument("--check", action="store_true", help="compare with the checked-in ones")
    options = parser.parse_args(arguments)
    table = calibrate()
    text = json.dumps(table, indent=1) + "\n"
    sys.stdout.write(json.dumps(table["figures"], indent=1) + "\n")
    for path in [options.json, COEFFICIENTS if options.write else None]:
        if path is not None:
            path.write_text(text, encoding="utf-8")
    if not options.check:
        return 0
    differing = check(table)
    state = f"differ: {', '.join(differing)}" if differing else "reproduce"
    sys.stdout.write(f"checked-in coefficients {state}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
