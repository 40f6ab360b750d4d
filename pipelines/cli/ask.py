"""`radarstream ask`: one question, answered as the service answers it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Option

from radarstream.connectors.state_table.database.inspection import absent_file
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.cli.options import AsJson, DryModelOptions
from radarstream.pipelines.cli.terminal import cell, note, print_table, printed, say
from radarstream.pipelines.documents import DocumentReader, Given, Offered, Reading, Unread, in_path
from radarstream.pipelines.pages import verdict_words as words
from radarstream.pipelines.pages.safe_text import quote_link
from radarstream.pipelines.serving.replies import has_nothing
from radarstream.pipelines.settings import Settings
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import MOST_LYING, Document
from radarstream.schemas.support import STATUS_RULE
from radarstream.schemas.verdict import Abstention

STDIN: Final = "-"
QUOTED: Final = 200  # characters of a quote
GREEN, RED = ("says so", "supports"), ("otherwise", "contradicts")
WAYS: Final = (
    "give files, folders or addresses, - for standard input, --document TEXT, or --source search;"
    " `radarstream corpus add FILE.jsonl` makes a corpus, which is asked without any of these"
)
Files = Annotated[
    list[str] | None,
    Argument(
        metavar="FILE",
        help="Documents to answer from: files (text, Markdown, HTML, PDF, DOCX), folders of them, "
        "addresses; .jsonl as for `corpus add`; - for standard input.",
    ),
]


@dataclass(frozen=True)
class Sources:
    """Where the documents of a question come from, and how many of their sites may lie."""

    document: Annotated[
        list[str] | None, Option(metavar="TEXT", help="A document's text; repeatable.")
    ] = None
    source: Annotated[
        Origin | None,
        Option(
            help="Where documents come from: documents, corpus or search. Default: documents if "
            "some are given, else serving.source."
        ),
    ] = None
    k: Annotated[
        int | None,
        Option(
            "--k",
            "-k",
            min=1,
            max=100,
            help="Documents that are looked for at first. Default: all that are given, else "
            "serving.documents.",
        ),
    ] = None
    withstand: Annotated[
        int | None,
        Option(min=0, max=MOST_LYING, help="How many of the sites that are read may lie."),
    ] = None

    def question(
        self, text: str, files: Sequence[str], settings: Settings, *, is_claim: bool = False
    ) -> UserQuestion:
        """The question, or claim, with its documents. Raises RadarstreamError, BadParameter."""
        given, unread = _documents(files, self.document or (), settings)
        own = bool(files or self.document)
        origin = self.source or (Origin.DOCUMENTS if own else Origin(settings.serving.source))
        absent = origin is Origin.CORPUS and absent_file(settings.database)
        if not given and (origin is Origin.DOCUMENTS or absent):
            raise BadParameter(f"there is no document to answer from: {WAYS}")
        return UserQuestion(
            text,
            "",
            datetime.now(UTC),
            origin,
            self.k or len(given) or settings.serving.documents,
            given,
            withstand=self.withstand,
            unread=unread,
            is_claim=is_claim,
        )


def answerer_of(settings: Settings) -> Answerer:
    """What answers, over the state database; where that is a file that is made now, the user hears
    of it. Raises ConfigurationError.
    """
    if file := absent_file(settings.database):
        note(f"note: {file} is made, for answers of models; the setting `database` moves it")
    return build_answerer(settings)


def ask(
    *,
    question: Annotated[str, Argument(help="What is asked; - reads it from standard input.")],
    files: Files = None,
    sources: Sources,
    defense: Annotated[
        str | None, Option(help="Defence, with its default options. Default: the configured one.")
    ] = None,
    chosen: DryModelOptions,
    explain: Annotated[
        bool, Option("--explain", help="Also show risk, plan, epsilon and trust.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer one question, over a corpus, a search, or documents that you give.

    Says what the answer rests on, which documents were kept and which were not, and why. What the
    job remembers of a watched question is read, never changed.
    """
    settings = chosen.settings()
    if question == STDIN and STDIN in (files or ()):
        raise BadParameter("standard input cannot be both question and document")
    text = sys.stdin.read().strip() if question == STDIN else question
    asked = replace(sources.question(text, files or (), settings), defense=defense)
    reply = answerer_of(settings).answer(asked)
    if printed({"answer": reply.text} | behind(reply), as_json):
        return
    print_reply(reply)
    say(f"modules that acted: {words.acted(reply.orchestration.hooks)}")
    if explain:
        say(STATUS_RULE, wrap=True)
        for name, value in words.decided_in_words(reply.orchestration):
            say(f"{name}: {value}")
        for record in reply.orchestration.hooks:
            say(f"{record.hook}: {words.module_in_words(record)}")


def _documents(names: Sequence[str], texts: Sequence[str], settings: Settings) -> Reading:
    """The documents that are given, ranks from 1 in their order. Raises RadarstreamError."""
    given = [one for name in names for one in _given(name, settings)]
    if not all(text.strip() for text in texts):
        raise BadParameter("--document is empty")
    given += [Document(1, text) for text in texts]
    settings.limits.check_count(len(given))
    with DocumentReader(settings) as reader:
        return reader.read(given)


def _given(name: str, settings: Settings) -> Sequence[Offered]:
    """What is given by a name: standard input, an address, a file, a folder."""
    if name == STDIN:
        data = sys.stdin.buffer.read(settings.documents.most_bytes + 1)
        return [Given(data, name="standard input")]
    if name.lower().startswith(("http://", "https://")):
        return [Given(url=name)]
    if not name.strip():  # of a variable that is not set: no folder is meant
        raise BadParameter("the name of a file is empty")
    return in_path(Path(name), settings.limits)


def print_reply(reply: Reply, label: str = "") -> None:
    """The answer behind a `label`, the documents, and what a user may do about a thin one."""
    _print_answer(reply, label)
    _print_documents(reply)
    _print_quotes(reply)
    print_unread(reply.question.unread)
    if has_nothing(reply):
        note(f"the corpus has nothing on this: {WAYS}")
    if len(reply.documents) == 1 and reply.event.abstention is Abstention.THIN_EVIDENCE:
        note("one document confirms nothing; `--withstand 0` takes what it says")


def _print_answer(reply: Reply, label: str) -> None:
    """The answer, what it rests on, and what is remembered."""
    event = reply.event
    if event.abstention is not None:
        say(f"no answer: {words.ABSTENTIONS[event.abstention]}", style="bold yellow")
    else:
        say(f"{label}{reply.text}", style="bold", wrap=True)
    if event.support is not None:
        status = "" if event.abstention else f"{words.STATUSES[event.status]}: "
        unsaid = event.verdict.weighed if event.abstention else None
        say(f"{status}{words.support_in_words(event.support, unsaid)}")
    if event.standing is not None:
        say(words.standing_in_words(event.standing))
    elif word := words.memory_in_words(event):
        say(f"memory: {event.verdict.memory.previous_answer} {word}")
    if event.reranking is not None:
        say(words.reranking_in_words(event.reranking))
    say(words.depth_in_words(event))
    if findings := words.findings_in_words(reply.orchestration.audit):
        say(f"the audit noted of this answer: {findings}", style="yellow")


def behind(reply: Reply) -> dict[str, Any]:
    """What is behind a reply, for `print_json`."""
    named = {name: getattr(reply, name) for name in ("event", "documents", "orchestration")}
    return named | {"unread": reply.question.unread}


def _print_documents(reply: Reply) -> None:
    """Each document: where it stands towards the answer or claim, what it says, and why."""
    documents = {document.rank: document for document in reply.documents}
    verdict, support, rows = reply.event.verdict, reply.event.support, []
    for judged in verdict.documents:
        side, why = words.judged_in_words(judged, verdict, support, reply.checked)
        place = words.place_in_words(documents[judged.rank], judged.page)
        stands = cell(side, "green" if side in GREEN else "red" if side in RED else "dim")
        rows.append((judged.rank, stands, cell(judged.atomic_answer), why, cell(place, limit=120)))
    headings = ("the claim", "why it does not count") if reply.checked else ("counted", "why")
    if rows:
        print_table(("", headings[0], "its answer", headings[1], "document"), rows)


def print_unread(unread: Sequence[Unread]) -> None:
    """The documents that could not be read, and why."""
    for one in unread:
        say(f"not read: {one.name}: {one.why}", style="yellow", wrap=True)


def _print_quotes(reply: Reply) -> None:
    """The words that each answer rests on, and where they are."""
    documents = {document.rank: document for document in reply.documents}
    for judged in reply.event.verdict.documents:
        if judged.excerpt is None:
            continue
        link = quote_link(documents[judged.rank].url, judged.excerpt, judged.page)
        words = one_line(judged.excerpt.match, QUOTED)
        say(f"{judged.rank}: “{words}”{f' {link}' if link else ''}", style="dim", wrap=True)
