"""Fit the coefficients of the answer-agreement scorer on pairs of our own, and measure it.

Run `python -m radarstream.pipelines.evaluation.calibrate_agreement [--write] [--check]
[--json FILE] [--pairs DIRECTORY]` in the root of the repository. The pairs were written for this
purpose: no question of any evaluation is among them. Those of `development*.csv` are fitted,
those of `held_out.csv` are measured only. With RADARSTREAM_DATA the scorer is also measured on
published pairs: the PoisonedRAG questions on Natural Questions and the RealTimeQA questions as the
RobustRAG family ships them, labelled by where they come from (equivalent or wrong).
"""

import argparse
import ast
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.answer_agreement.comparison import Likeness
from radarstream.connectors.models.answer_agreement.scorer import (
    CLASSES,
    COEFFICIENTS,
    FEATURES,
    AnswerAgreement,
    compare_pair,
    feature_rows,
    read_coefficients,
)
from radarstream.pipelines.evaluation.answer_variants import (
    coarser,
    equivalents,
    near_miss,
)
from radarstream.pipelines.evaluation.halves import question_digest
from radarstream.pipelines.evaluation.own_pairs import (
    FITTED,
    HELD_OUT,
    PAIRS,
    OwnPair,
    errors,
    read_own,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair

SEED = 20_260_101
INVERSE_PENALTY = 30.0  # of the L2 term
FILES = ("poisonedrag_nq.json", "realtimeqa_dev.json")
FOLDS = 5  # of families, for the measure on families that were not fitted
TOLERANCE = 2e-3  # between the coefficients of two machines
ENTAILS, NEUTRAL, CONTRADICTS = range(3)
UNRELATED_PER_QUESTION = 3
# Entailment, neutral and contradiction of findings, set by hand. Our pairs are written to be
# hard, so how often such a finding errs among them says nothing of how often it errs on pages.
BY_RULE = {
    Likeness.UNEXPLAINED: (0.3, 0.65, 0.05),  # what is not understood is no agreement
    Likeness.PARTLY_SHARED: (0.25, 0.4, 0.35),
    Likeness.PHRASES_DIFFER: (0.1, 0.05, 0.85),
    Likeness.PREMISE_ADDS: (0.99, 0.008, 0.002),
    Likeness.HYPOTHESIS_ADDS: (0.53, 0.45, 0.02),  # most of what a page adds is agreement
    Likeness.VALUES_DIFFER: (0.0005, 0.0005, 0.999),
    Likeness.KINDS_DIFFER: (0.012, 0.003, 0.985),
}
# Weight of a question's pairs of one kind. Coarse dates stand for every elaboration that a page
# may add to an answer, most of which are agreement: they count for less. So do the pairs that were
# written to be hard ("wrong" and "expanded"): pages are not full of them.
KIND_WEIGHT = {"coarse to fine": 0.4, "wrong": 0.01, "expanded": 0.01}
ABSTENTIONS = ("I don't know", "I don\u2019t know.", "The passage does not mention it.")


Labelled = tuple[str, str, int, str, bool]  # premise, hypothesis, then as in `Pair`


@dataclass(frozen=True, slots=True)
class Item:
    """One question, answers that mean the same, and answers that are wrong."""

    question: str
    correct: tuple[str, ...]
    incorrect: tuple[str, ...]


def own_items(pairs: Sequence[OwnPair]) -> list[Item]:
    """Own pairs as questions with answers that mean the same and answers that do not."""
    grouped: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for pair in pairs:
        right, wrong = grouped.setdefault((pair.question, pair.one), ([pair.one], []))
        (right if pair.same else wrong).append(pair.other)
    return [Item(q, tuple(right), tuple(wrong)) for (q, _), (right, wrong) in grouped.items()]


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
    right = item.correct[0]
    made = _agreeing(item.correct, len(item.correct))
    made += _agreeing([right, *equivalents(item.question, right)], 1)
    for wrong in item.incorrect[:1]:
        made += _composed(right, wrong)
    for a in item.correct:
        for b in item.incorrect:
            made += _both_ways(a, b, CONTRADICTS, "wrong", raw=True)
    for other in unrelated:
        made += _both_ways(right, other, CONTRADICTS, "unrelated", raw=True)
    for abstention in ABSTENTIONS:
        for answer in (right, *item.incorrect[:1]):
            made += _both_ways(answer, abstention, NEUTRAL, "abstention")
    return list(
        dict.fromkeys(
            Pair(AnswerPair(item.question, a, b), label, kind, raw)
            for a, b, label, kind, raw in made
        )
    )


def _both_ways(a: str, b: str, label: int, kind: str, *, raw: bool = False) -> list[Labelled]:
    return [(a, b, label, kind, raw), (b, a, label, kind, raw)]


def _agreeing(answers: Sequence[str], published: int) -> list[Labelled]:
    """All pairs of equivalent answers, the first of which were published."""
    made: list[Labelled] = []
    for i, a in enumerate(answers):
        for j, b in enumerate(answers[: i + 1]):
            raw = j < i < published
            kind = "identical" if i == j else "expanded" if raw else "reworded"
            made += _both_ways(a, b, ENTAILS, kind, raw=raw)
    return made


_PLAIN = re.compile(r"(?:the |a |an )?[^\W\d]{3,}(?: [^\W\d]{3,}){0,2}", re.IGNORECASE)
_SAYS_MORE = re.compile(
    r"\b(?:yes|no|not|and|or|but|it|its|they|was|were|is|are|all|both|neither|none|never|always"
    r"|wrong|only|every|any\w*|either|except|beat|lost|won)\b",
    re.IGNORECASE,
)


def _is_plain(answer: str) -> bool:
    """Whether an answer is a short phrase of which lists and denials can be made."""
    return bool(_PLAIN.fullmatch(answer)) and not _SAYS_MORE.search(answer)


def _composed(right: str, wrong: str) -> Iterator[Labelled]:
    """Lists against their members, and denials against what they deny."""
    if not (_is_plain(right) and _is_plain(wrong)):
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


def sample(items: list[Item]) -> Sample:
    """All labelled pairs of some questions with their features."""
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
    comparisons = [compare_pair(pair.pair) for pair in pairs]
    labels = np.array([pair.label for pair in pairs], dtype=np.int64)
    return Sample(pairs, feature_rows(comparisons), labels, np.array(weights))


def fit(rows: FloatArray, labels: NDArray[np.int64], weights: FloatArray) -> FloatArray:
    """(3, features) weights of the penalised multinomial logistic regression, no intercept.

    Findings of BY_RULE are not fitted: that they are no agreement is a rule.
    """
    try:
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigurationError("calibration needs scikit-learn: pip install '.[test]'") from error
    model = LogisticRegression(C=INVERSE_PENALTY, fit_intercept=False, max_iter=5_000, tol=1e-8)
    ruled = [FEATURES.index(finding.value) for finding in BY_RULE]
    known = ~rows[:, ruled].any(axis=1)
    model.fit(rows[known], labels[known], sample_weight=weights[known])
    table = np.asarray(model.coef_, dtype=np.float64)
    table[:, ruled] = np.log(list(BY_RULE.values())).T
    return table


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


def fold_of(family: str) -> int:
    """The fold of a family: the same on every machine."""
    return int(sha256(family.encode()).hexdigest(), 16) % FOLDS


def unseen_families(pairs: Sequence[OwnPair], whole: Sample) -> dict[str, float]:
    """Errors on own pairs, each judged by coefficients fitted on other families."""
    totals: dict[str, float] = {}
    family = {pair.question: pair.family for pair in pairs}
    folds = np.array([fold_of(family[pair.pair.question]) for pair in whole.pairs])
    for fold in range(FOLDS):
        seen = folds != fold
        scorer = AnswerAgreement(
            weights=fit(whole.rows[seen], whole.labels[seen], whole.weights[seen]).tolist()
        )
        held = [pair for pair in pairs if fold_of(family[pair.question]) == fold]
        for name, count in errors(scorer, held).items():
            totals[name] = totals.get(name, 0.0) + count
    return totals


def published(scorer: AnswerAgreement) -> dict[str, float]:
    """Figures of the scorer on published pairs of answers; none of them was fitted."""
    items = read_items(data_directory())
    pairs = [pair for item in items for pair in labelled_pairs(item, ()) if pair.raw]
    labels = np.array([pair.label for pair in pairs], dtype=np.int64)
    return figures(scorer.probabilities([pair.pair for pair in pairs]), labels)


def calibrate(directory: Path = PAIRS) -> dict[str, Any]:
    """Fit and measure; the result is what `coefficients.json` holds."""
    own = [pair for name in FITTED for pair in read_own(name, directory)]
    fitted = sample(own_items(own))
    weights = np.round(fit(fitted.rows, fitted.labels, fitted.weights), 4).tolist()
    scorer = AnswerAgreement(weights=weights)
    measured = {"families_not_fitted": unseen_families(own, fitted)}
    measured |= {name: errors(scorer, read_own(name, directory)) for name in HELD_OUT}
    try:
        measured["as_published"] = published(scorer)
    except ConfigurationError as error:
        sys.stderr.write(f"not measured on published pairs: {error}\n")
    return {
        "features": list(FEATURES),
        "classes": list(CLASSES),
        "weights": weights,
        "provenance": {
            "model": "multinomial logistic regression, L2, no intercept",
            "by_rule": {finding.value: shares for finding, shares in BY_RULE.items()},
            "inverse_penalty": INVERSE_PENALTY,
            "seed": SEED,
            "fitted_on": f"{len(own)} pairs of answers written for this purpose",
            "families": len({pair.family for pair in own}),
            "data_sha256": {
                name: sha256((directory / f"{name}.csv").read_bytes()).hexdigest()
                for name in FITTED
            },
            "fitted_pairs": len(fitted.pairs),
            "questions_sha256": sorted({question_digest(pair.question) for pair in own}),
        },
        "figures": measured,
    }


def reproduces(table: dict[str, Any], path: Path = COEFFICIENTS) -> bool:
    """Whether the checked-in coefficients are those of a fresh fit."""
    return bool(np.allclose(read_coefficients(path), table["weights"], rtol=0.0, atol=TOLERANCE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate, print the figures as JSON; exit status 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--json", type=Path, help="also write coefficients and figures here")
    parser.add_argument("--write", action="store_true", help="replace the checked-in coefficients")
    parser.add_argument("--check", action="store_true", help="compare with the checked-in ones")
    parser.add_argument("--pairs", type=Path, default=PAIRS, help="directory of our own pairs")
    options = parser.parse_args(arguments)
    table = calibrate(options.pairs)
    text = json.dumps(table, indent=1) + "\n"
    sys.stdout.write(json.dumps(table["figures"], indent=1) + "\n")
    for path in [options.json, COEFFICIENTS if options.write else None]:
        if path is not None:
            path.write_text(text, encoding="utf-8")
    if not options.check:
        return 0
    same = reproduces(table)
    sys.stdout.write(f"checked-in coefficients {'reproduce' if same else 'differ'}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
