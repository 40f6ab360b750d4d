"""`radarstream verify`: check answers against their own evidence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text
from typer import Argument, Option

from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Check, Outcome
from radarstream.defenses.recheck.given import not_checked
from radarstream.pipelines.cli.options import AsJson
from radarstream.pipelines.cli.terminal import cell, print_json, print_table, say
from radarstream.schemas.codec import decode_answer
from radarstream.schemas.codec.cloud_events import attributes, envelope
from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.errors import ConfigurationError, InputError, NotFoundError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.wording import counted_noun

MOST_BYTES = 64 * 2**20
SOURCE = {"source": "it is a setting of who published"}
STYLES = {Outcome.RIGHT: "green", Outcome.WRONG: "bold red", Outcome.ABSENT: "dim"}


def verify(
    file: Annotated[
        Path, Argument(help="Answers, one JSON event a line: answers.jsonl, or `tail --json`.")
    ],
    everything: Annotated[
        bool, Option("--all", help="Also show the answers whose checks are all right.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compute again what follows from the events of answers, and name what does not.

    Energy, keep-evidence, verdict, support and status follow from answers, edges, stances and
    rules. Ends with exit code 1 if anything differs from what an event says, or if there is no
    answer. Events that are no answers are passed over.
    """
    found = list(verified_in(file))
    if not found:
        raise NotFoundError(f"{file}: no answers in it")
    wrong = sum(one.wrong for one in found)
    unchecked = {name: why for one in found for name, why in one.not_checked.items()}
    if as_json:
        counts = {"answers": len(found), "wrong": wrong, "checks": counts_of(found)}
        print_json(counts | {"not_checked": unchecked})
    else:
        _print(found, everything=everything)
        say(f"{counted_noun(len(found), 'answer')}, {wrong} with a mismatch")
        for reason in dict.fromkeys(unchecked.values()):
            names = ", ".join(name for name, why in unchecked.items() if why == reason)
            say(f"Not checked, since {reason}: {names}.")
    if wrong:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class Verified:
    """An answer, what checks of it found, and why some of its values were not checked, by name."""

    event: AnswerEvent
    checks: tuple[Check, ...]
    not_checked: dict[str, str]

    @property
    def wrong(self) -> bool:
        """Whether anything differs from what the event says."""
        return any(check.outcome is Outcome.WRONG for check in self.checks)


def verified_in(file: Path) -> Iterator[Verified]:
    """The answers of a file. Raises ConfigurationError naming a line that is damaged."""
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    if line.strip() and _is_answer(line):
                        yield verified(line)
                except InputError as error:
                    raise ConfigurationError(f"{file} line {number}: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from None


def verified(line: bytes) -> Verified:
    """An answer on one line, checked. Raises InputError."""
    event = decode_answer(line)
    head = envelope_check(parse_object(line, max_bytes=MOST_BYTES), event)
    found = Verified(event, (head, *rechecked(event)), {})
    return found if found.wrong else replace(found, not_checked=SOURCE | not_checked(event))


def envelope_check(line: JsonObject, event: AnswerEvent) -> Check:
    """Whether the attributes of an event are those of its data."""
    if "specversion" not in line:
        return Check("envelope", Outcome.ABSENT, "a bare event")
    due = attributes(envelope(event, source=str(line.get("source"))))
    unlike = ", ".join(name for name, text in due.items() if line.get(name) != text)
    return Check("envelope", Outcome.WRONG if unlike else Outcome.RIGHT, unlike)


def _is_answer(line: bytes) -> bool:
    payload = parse_object(line, max_bytes=MOST_BYTES)
    kind = payload.get("type", payload.get("schema", ""))
    return isinstance(kind, str) and kind.partition("/")[0] == "answer.defended"


def counts_of(found: Sequence[Verified]) -> dict[str, dict[str, int]]:
    """How often each check ended how."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        for check in one.checks:
            counts.setdefault(check.about, Counter())[check.outcome.value] += 1
    return {about: dict(outcomes) for about, outcomes in counts.items()}


def _print(found: Sequence[Verified], *, everything: bool) -> None:
    counts = counts_of(found)
    outcomes = ((about, *(str(of.get(o, 0)) for o in Outcome)) for about, of in counts.items())
    print_table(("check", *Outcome), outcomes, title="checks")
    rows = []
    for one in found:
        if everything or one.wrong:
            name = cell(f"{one.event.query_id}/{one.event.step}")
            checks = {check.about: check for check in one.checks}
            cells = [_cell(checks[about]) if about in checks else "" for about in counts]
            rows.append((name, one.event.defense, *cells))
    if rows:
        print_table(("answer", "defence", *counts), rows, title="answers")


def _cell(check: Check) -> Text:
    return cell(f"{check.outcome} {check.detail}".strip(), STYLES[check.outcome])
