"""What methods ask while they run, and every way in which a response can be malformed."""

import ast
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import radarstream.defenses
from radarstream.defenses.protocol import (
    AttemptAll,
    Attention,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    MaskedTokenProbabilities,
    Norms,
    ProbeGradients,
    Relate,
    Request,
    TokenSaliences,
)
from radarstream.defenses.responses import ask
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from tests.driving import Script

PACKAGE = Path(radarstream.defenses.__file__).parent
Place = tuple[str, int]  # a file of the package and a line


@dataclass(frozen=True)
class Run:
    """One run of a method from its beginning, and the models that answer it."""

    name: str
    start: Callable[[], Generator[Request, Any, Any]]
    models: Callable[[], Script]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Asked:
    """The `index`th request of a run, and where in the code it was made."""

    run: Run
    index: int
    request: Request
    place: Place

    def send(self, spoil: Callable[[Any], Any]) -> None:
        """Run up to this request and answer it with what `spoil` makes of the right response."""
        method, models = self.run.start(), self.run.models()
        request = next(method)
        for _ in range(self.index):
            request = method.send(models.respond(request))
        assert repr(request) == repr(self.request)
        method.send(spoil(models.respond(request)))


def requests_of(run: Run) -> Iterator[Asked]:
    """The first request that each place in the code makes in this run."""
    method, models = run.start(), run.models()
    seen: set[Place] = set()
    try:
        request, index = next(method), 0
        while True:
            if (place := place_of(method)) not in seen:
                seen.add(place)
                yield Asked(run, index, request, place)
            request, index = method.send(models.respond(request)), index + 1
    except StopIteration:
        return


def place_of(method: Generator[Request, Any, Any]) -> Place:
    """Where a suspended method asks: the innermost generator that called `ask`."""
    inner = method
    while (called := inner.gi_yieldfrom) is not None and called.gi_code is not ask.__code__:
        inner = called
    frame = inner.gi_frame
    return Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix(), frame.f_lineno


@dataclass(frozen=True)
class Source:
    """What the source of the methods says about asking.

    `asks` are the first and last lines of every `yield from ask(...)` of a file, `yields` the
    functions with a plain `yield`.
    """

    asks: frozenset[tuple[str, int, int]]
    yields: frozenset[tuple[str, str]]


def read_source() -> Source:
    """Read the whole package."""
    asks, yields = set(), set()
    for file in PACKAGE.rglob("*.py"):
        name, tree = file.relative_to(PACKAGE).as_posix(), ast.parse(file.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.YieldFrom) and isinstance(node.value, ast.Call):
                called = node.value.func
                if isinstance(called, ast.Name) and called.id == ask.__name__:
                    asks.add((name, node.lineno, node.end_lineno or node.lineno))
            if isinstance(node, ast.FunctionDef):
                inside = ast.walk(node)
                yields |= {(name, node.name) for part in inside if isinstance(part, ast.Yield)}
    return Source(frozenset(asks), frozenset(yields))


# --- malformed responses ----------------------------------------------------------------------

Spoil = Callable[[Any], Any]


def malformations(request: Request) -> dict[str, Spoil]:
    """Every way to spoil the response to a request, by name."""
    match request:
        case Complete():
            return {**ANYTHING, **ANSWERS}
        case Relate():
            return {**ANYTHING, **ARRAYS, **ROWS, **PROBABILITIES}
        case Embed():
            return {**ANYTHING, **ARRAYS, **ROWS, "infinite": one_value(np.inf)}
        case Norms():
            return {
                **ANYTHING,
                **ARRAYS,
                "a column": lambda lengths: lengths[:, None],
                "negative": one_value(-1.0),
                "infinite": one_value(np.inf),
            }
        case LogProbs():
            return {**ANYTHING, **ARRAYS, **ROWS, **LOGARITHMS}
        case AttemptAll(requests=requests):
            allowed = {"an error"}  # an attempt may fail
            return {**ANYTHING, **tuples(requests, allowed)}
        case CompleteAll(requests=requests) | LogProbsAll(requests=requests):
            return {**ANYTHING, **tuples(requests, set())}
        case ProbeGradients() | TokenSaliences() | MaskedTokenProbabilities() | Attention():
            return {**ANYTHING, **insights(request)}


def insights(
    request: ProbeGradients | TokenSaliences | MaskedTokenProbabilities | Attention,
) -> dict[str, Spoil]:
    """Ways to spoil what a network says of its own workings."""
    match request:
        case ProbeGradients():
            failed = "not a number"  # gradients may fail
            return {how: spoil for how, spoil in (ARRAYS | GRAMS).items() if how != failed}
        case TokenSaliences():
            return parts_of(TOKENS)
        case MaskedTokenProbabilities():
            return parts_of({**ARRAYS, "a column": lambda p: p[:, None], **EACH_PROBABILITY})
        case Attention():
            return {
                **ARRAYS,
                "a column": lambda shares: shares[:, None],
                "below zero": one_value(-0.1),
                "infinite": one_value(np.inf),
                "of one": lambda shares: shares / 100.0,
            }


def one_value(value: float) -> Spoil:
    """The last number replaced."""

    def spoil(response: np.ndarray) -> np.ndarray:
        spoiled = response.copy()
        spoiled.flat[-1] = value
        return spoiled

    return spoil


ANYTHING: dict[str, Spoil] = {
    "none": lambda _: None,
    "a string": lambda _: "Rome",
    "a number": lambda _: 0.5,
    "an object": lambda _: object(),
    "an error": lambda _: ModelError("out of order"),
}
ANSWERS: dict[str, Spoil] = {
    "a pair": lambda answer: (answer.text, answer.abstained),
    "several": lambda answer: (answer, answer),
    "without text": lambda answer: replace(answer, text=None),
    "bytes": lambda answer: replace(answer, text=answer.text.encode()),
    "an empty answer": lambda _: AtomicAnswer(" \n"),
    "no flag": lambda answer: replace(answer, abstained=None),
}
ARRAYS: dict[str, Spoil] = {
    "too few rows": lambda rows: rows[:-1],
    "too many rows": lambda rows: np.concatenate([rows, rows[:1]]),
    "no rows": lambda rows: rows[:0],
    "not a number": one_value(np.nan),
    "strings": lambda rows: rows.astype(str),
    "objects": lambda rows: np.full(rows.shape, None),
    "complex": lambda rows: rows.astype(complex),
    "ragged": lambda rows: [*rows.tolist(), [1.0, 2.0, 3.0, 4.0, 5.0]],
    "a stack": lambda rows: rows[None],
}
ROWS: dict[str, Spoil] = {"flat": lambda rows: rows.ravel(), "no columns": lambda rows: rows[:, :0]}
EACH_PROBABILITY: dict[str, Spoil] = {
    "above one": one_value(1.1),
    "below zero": one_value(-0.1),
}
PROBABILITIES: dict[str, Spoil] = {
    **EACH_PROBABILITY,
    "two columns": lambda rows: rows[:, :2],
    "four columns": lambda rows: np.hstack([rows, rows[:, :1]]),
}
LOGARITHMS: dict[str, Spoil] = {"above one": one_value(np.log(1.1)), "infinite": one_value(np.inf)}

GRAMS: dict[str, Spoil] = {
    "one row a passage": lambda grams: grams[:, 0],
    "too few columns": lambda grams: grams[:, :, :-1],
    "too few runs": lambda grams: grams[:, :-1, :-1],
    "negative lengths": lambda grams: -grams - 1.0,
}
TOKENS: dict[str, Spoil] = {
    **ANYTHING,
    "a list": list,
    "spans": lambda tokens: tuple((token.start, token.stop) for token in tokens),
    "a negative length": lambda tokens: (*tokens[:-1], replace(tokens[-1], length=-1.0)),
    "before the text": lambda tokens: (*tokens[:-1], replace(tokens[-1], start=-1)),
    "behind the text": lambda tokens: (*tokens[:-1], replace(tokens[-1], stop=10**6)),
    "backwards": lambda tokens: (*tokens[:-1], replace(tokens[-1], start=2, stop=1)),
}


def tuples(requests: tuple[Request, ...], allowed: set[str]) -> dict[str, Spoil]:
    """Tuples of the wrong length, and tuples whose last part is malformed."""
    ways = malformations(requests[-1])
    return parts_of({how: spoil for how, spoil in ways.items() if how not in allowed})


def parts_of(ways: dict[str, Spoil]) -> dict[str, Spoil]:
    """Tuples of the wrong length, and tuples whose last part is spoiled in one of the ways."""
    spoiled: dict[str, Spoil] = {
        "too few parts": lambda parts: parts[:-1],
        "too many parts": lambda parts: (*parts, parts[0]),
        "no parts": lambda _: (),
        "the first part": lambda parts: parts[0],
    }
    for how, spoil in ways.items():
        spoiled[f"last part: {how}"] = lambda parts, spoil=spoil: (
            *parts[:-1],
            spoil(parts[-1]),
        )
    return spoiled
