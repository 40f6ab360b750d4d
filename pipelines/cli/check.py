"""`radarstream check`: claims, checked by the rule that decides answers."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Exit, Option

from radarstream.pipelines.asking.known import query_of
from radarstream.pipelines.asking.values import Reply
from radarstream.pipelines.cli.ask import (
    Files,
    Sources,
    answerer_of,
    behind,
    print_reply,
    print_unread,
)
from radarstream.pipelines.cli.options import AsJson, DryModelOptions
from radarstream.pipelines.cli.terminal import cell, print_table, printed, say
from radarstream.pipelines.pages import verdict_words as words
from radarstream.pipelines.serving.replies import claimed
from radarstream.schemas.errors import ClaimError, InputError, RadarstreamError

COLUMN: Final = "claim"
MOST_CLAIMS: Final = 10_000
AT_ONCE: Final = 16  # claims that share calls of models
STYLES: Final = {"supported": "green", "refuted": "red", "disputed": "", "not_enough_evidence": ""}


def check(
    *,
    claim: Annotated[
        str, Argument(help="What is claimed, a whole sentence; with --claims the first document.")
    ] = "",
    files: Files = None,
    claims: Annotated[
        Path | None,
        Option(metavar="FILE", help=f"CSV file of claims, in a column named {COLUMN!r}."),
    ] = None,
    sources: Sources,
    chosen: DryModelOptions,
    as_json: AsJson = False,
) -> None:
    """Say whether documents support a claim or contradict it: supported, refuted, disputed, or not
    enough evidence.

    Each document is asked by itself, and independent sites are counted as for an answer. A file of
    claims gives a table, each claim against the same documents or a search of its own. One that
    cannot be checked is refused, or failed where a model or search did: the exit code is then 2, or
    1.
    """
    if claims is None and not claim.strip():
        raise BadParameter("give a claim, or a file of them by --claims")
    texts = [claim.strip()] if claims is None else list(claims_in(claims))
    names = [*([claim] if claims is not None and claim else ()), *(files or ())]
    settings = chosen.settings()
    asked = sources.question(texts[0], names, settings, is_claim=True)
    answerer = answerer_of(settings)
    if claims is None:
        reply = answerer.answer(asked)
        if not printed(facts_of(asked.text, reply) | behind(reply), as_json):
            _print_claim(reply)
        return
    outcomes: list[tuple[str, Reply | RadarstreamError]] = []
    for begin in range(0, len(texts), AT_ONCE):
        some = texts[begin : begin + AT_ONCE]
        questions = [replace(asked, text=text) for text in some]
        outcomes += zip(some, answerer.answer_all(questions), strict=True)
    facts = [facts_of(text, outcome) for text, outcome in outcomes]
    if not printed(facts, as_json):
        _print_claims(facts)
        print_unread(asked.unread)
    if errors := [one for _, one in outcomes if isinstance(one, RadarstreamError)]:
        raise Exit(min(error.exit_code for error in errors))


def claims_in(file: Path) -> Iterator[str]:
    """The claims of a CSV file (UTF-8), in order. Raises BadParameter, naming the row."""
    try:
        if not file.is_file():  # a pipe may never end
            raise BadParameter(f"there is no file {file}")
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield from _claims_of(csv.DictReader(lines, strict=True))
    except (OSError, UnicodeError, csv.Error) as error:
        raise BadParameter(f"{file} is no CSV file of claims: {error}") from None


def _claims_of(rows: "csv.DictReader[str]") -> Iterator[str]:
    if COLUMN not in (rows.fieldnames or ()):
        raise BadParameter(f"no column {COLUMN!r}; there are {', '.join(rows.fieldnames or ())}")
    number = 0
    for number, row in enumerate(rows, 1):
        if number > MOST_CLAIMS:
            raise BadParameter(f"more than {MOST_CLAIMS} claims")
        text = (row[COLUMN] or "").strip()
        try:
            query_of(text, COLUMN)
        except InputError as error:
            raise BadParameter(f"row {number}: {error.detail}") from None
        yield text
    if not number:
        raise BadParameter("the file has no claims")


def facts_of(text: str, outcome: Reply | RadarstreamError) -> dict[str, Any]:
    """What became of one claim, for `print_json`."""
    if isinstance(outcome, RadarstreamError):
        verdict = "refused" if isinstance(outcome, ClaimError) else "failed"
        return {COLUMN: text, "verdict": verdict, "error": str(outcome)}
    facts = {COLUMN: text, "answer": outcome.text} | claimed(outcome.checked)
    return facts | {"quotes": [*_quotes(outcome)], "unread": outcome.question.unread}


def _quotes(reply: Reply) -> Iterator[dict[str, Any]]:
    """Where each document that takes a side stands, and its words."""
    found = {document.rank: document for document in reply.documents}
    stances = dict(reply.checked.stances if reply.checked else ())
    for judged in reply.event.verdict.documents:
        if judged.rank in stances:
            place = words.place_in_words(found[judged.rank], judged.page)
            quote = judged.excerpt.match if judged.excerpt else None
            yield {"stance": stances[judged.rank], "document": place, "quote": quote}


def _print_claim(reply: Reply) -> None:
    """What became of the claim, what was asked, and who says what."""
    if (checked := reply.checked) is not None:
        say(words.claim_in_words(checked), style="bold", wrap=True)
        say(f"asked: {checked.claim.question} The claim says: {checked.claim.answer}", wrap=True)
    print_reply(reply, "answered: ")


def _print_claims(facts: Iterable[dict[str, Any]]) -> None:
    rows = (
        (
            one[COLUMN],
            cell(one["verdict"].replace("_", " "), STYLES.get(one["verdict"], "yellow")),
            one.get("supporting"),
            one.get("contradicting"),
            one.get("error", one.get("answer")),
        )
        for one in facts
    )
    print_table((COLUMN, "verdict", "support", "contradict", "answer, or why there is none"), rows)
