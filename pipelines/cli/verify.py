"""`radarstream verify`: check answers against their own evidence."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Check, Outcome
from radarstream.pipelines.cli.options import AsJson
from radarstream.pipelines.cli.terminal import cell, print_json, print_table, say
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.schemas.codec import decode_answer
from radarstream.schemas.codec.json_text import parse_object
from radarstream.schemas.errors import ConfigurationError, InputError, NotFoundError
from radarstream.schemas.events import AnswerEvent

MOST_BYTES = 64 * 2**20
STYLES = {Outcome.RIGHT: "green", Outcome.WRONG: "bold red", Outcome.ABSENT: "dim"}
NOT_CHECKED = (
    "Not checked, since it takes the models: what each document answers, how answers relate, which "
    "are unlike the others, and what is written from the kept ones; nor, since it takes the texts, "
    "which documents copy one another."
)


def verify(
    file: Annotated[
        Path, Argument(help="Answers, one JSON event a line: answers.jsonl, or `tail --json`.")
    ],
    everything: Annotated[
        bool, Option("--all", help="Also show the answers whose checks are all right.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute energy, verdict and status of answers again, and check their support, from their
    events alone.

    Ends with exit code 1 if anything differs from what an event says, or if there is no answer.
    Events that are no answers are passed over.
    """
    found = [(event, rechecked(event)) for event in answers_in(file)]
    if not found:
        raise NotFoundError(f"{file}: no answers in it")
    wrong = sum(any(c.outcome is Outcome.WRONG for c in checks) for _, checks in found)
    if as_json:
        print_json({"answers": len(found), "wrong": wrong, "checks": counts_of(found)})
    else:
        _print(found, everything=everything)
        say(f"{counted_noun(len(found), 'answer')}, {wrong} with a mismatch")
        say(NOT_CHECKED)
    if wrong:
        raise typer.Exit(1)


def answers_in(file: Path) -> Iterator[AnswerEvent]:
    """The answer events of a file. Raises ConfigurationError naming a line that is damaged."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    if line.strip() and _is_answer(line):
                        yield decode_answer(line)
                except InputError as error:
                    raise ConfigurationError(f"{file} line {number}: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from None


def _is_answer(line: bytes) -> bool:
    payload = parse_object(line, max_bytes=MOST_BYTES)
    kind = payload.get("type", payload.get("schema", ""))
    return isinstance(kind, str) and kind.partition("/")[0] == "answer.defended"


def counts_of(found: list[tuple[AnswerEvent, tuple[Check, ...]]]) -> dict[str, dict[str, int]]:
    """How often each check ended how."""
    counts: dict[str, Counter[str]] = {}
    for _, checks in found:
        for check in checks:
            counts.setdefault(check.about, Counter())[check.outcome.value] += 1
    return {about: dict(outcomes) for about, outcomes in counts.items()}


def _print(found: list[tuple[AnswerEvent, tuple[Check, ...]]], *, everything: bool) -> None:
    print_table(
        ("check", *Outcome),
        (
            (about, *(str(outcomes.get(outcome, 0)) for outcome in Outcome))
            for about, outcomes in counts_of(found).items()
        ),
        title="checks",
    )
    rows = [
        (
            cell(f"{event.query_id}/{event.step}"),
            event.defense,
            *(cell(f"{c.outcome} {c.detail}".strip(), STYLES[c.outcome]) for c in checks),
        )
        for event, checks in found
        if everything or any(check.outcome is Outcome.WRONG for check in checks)
    ]
    if rows:
        print_table(("answer", "defence", *counts_of(found)), rows, title="answers")
