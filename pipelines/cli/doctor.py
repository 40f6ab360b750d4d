"""`radarstream doctor`: do the settings work here, without the response cache, and if not, what
helps.
"""

import math
import os
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer
from typer import Option

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.openai_http.listing import models_at, named, writers
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.searxng import ABOUT, SearXng
from radarstream.connectors.search.searxng import PORTS as SEARXNG_PORTS
from radarstream.connectors.state_table.database.inspection import absent_file, inspected
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.defenses.radar import Radar
from radarstream.defenses.voices import Voices
from radarstream.pipelines import build
from radarstream.pipelines import settings as s
from radarstream.pipelines.cli.grading import PARTS, Grade, graded
from radarstream.pipelines.cli.options import AsJson, ModelOptions
from radarstream.pipelines.cli.terminal import cell, print_table, printed, say
from radarstream.pipelines.searching import SEARCHES, check_search, search_client
from radarstream.pipelines.settings.job import host_and_port
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    ModelError,
    RadarstreamError,
    SearchError,
)
from radarstream.schemas.plugins import EXTRAS, naming_extra
from radarstream.schemas.prompt import AnswerPair, ContinuationQuery, Task

PORTS: Final = {"Ollama": 11434, "vLLM": 8000, "llama.cpp server": 8080}
LISTING_S, CONNECT_S, BROKER_S = 0.5, 1.0, 3.0
QUESTION, PASSAGE = "What is the capital of Peru?", "Lima is the capital of Peru."
PROMPT: Final = build_prompt(Task.ATOMIC_ANSWER, QUESTION, (PASSAGE,))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One result; `ok` is None for what is missing and not needed. `remedy` mends it."""

    name: str
    ok: bool | None
    found: str
    remedy: str = ""


def doctor(
    *,
    chosen: ModelOptions,
    grade: Annotated[
        bool,
        Option(
            "--grade", help="Ask the models 60 questions in place of the checks, and grade them."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show whether settings, models, database, search and broker work here, and what to do if not.

    A search service is looked at if it is chosen, or its key is there, without a search. The broker
    is looked at with --config, or when it answers. Only weights may be written, to the
    user's cache.
    """
    settings = chosen.settings()
    if grade:
        print_grade(graded(settings), as_json=as_json)
        return
    checks = [
        attempt("settings", lambda: _settings(settings), "correct the settings"),
        attempt(
            "database", lambda: _database(settings.database, chosen.config), "correct `database`"
        ),
        _extras(),
        *models(settings),
        *local_servers(settings),
        *searches(settings),
    ]
    if chosen.config or _answers(settings.kafka):
        checks += broker(settings.kafka, chosen.config)
    if not printed(checks, as_json):
        states = {True: cell("ok", "green"), False: cell("missing", "bold red"), None: "none"}
        rows = (
            (c.name, states[c.ok], *(cell(t, limit=300) for t in (c.found, c.remedy * (not c.ok))))
            for c in checks
        )
        print_table(("check", "", "found", "what to do"), rows, title="radarstream doctor")
    if any(check.ok is False for check in checks):
        raise typer.Exit(1)


def print_grade(grade: Grade, *, as_json: bool) -> None:
    """The grade of a model, part by part, and the settings that fit it."""
    if printed(grade, as_json):
        return
    rows = (
        (PARTS[p.name], f"{p.right} of {p.asked}", cell(p.example, limit=160)) for p in grade.parts
    )
    print_table(("", "right", "the first mistake"), rows, title=f"grade {grade.grade}")
    tokens = f", {grade.tokens} tokens" if grade.tokens else ""
    say(f"{grade.model}: {grade.seconds:.2f} s a page{tokens}")
    for line in grade.advice or ("the defaults fit",):
        say(f"suggested: {line}")


def attempt(name: str, work: Callable[[], str], remedy: str) -> Diagnosis:
    """Turn a failure into a result; the error's own remedy comes first."""
    try:
        return Diagnosis(name, True, work())
    except RadarstreamError as error:
        return Diagnosis(name, False, str(error), error.remedy or remedy)


def _settings(settings: s.Settings) -> str:
    """Build everything that the settings name, and load nothing."""
    build.check_settings(settings)
    reranker = f", {settings.retrieval.name} before it" if settings.retrieval.name else ""
    return f"profile {settings.profile}, {settings.defense.name}{reranker}"


def _extras() -> Diagnosis:
    """Which extras are not installed; a command that needs one says so, too."""
    lacks = sorted({extra for library, extra in EXTRAS.items() if find_spec(library) is None})
    if not lacks:
        return Diagnosis("extras", True, "all are installed")
    install = f"pip install 'radarstream[{','.join(lacks)}]'"
    return Diagnosis("extras", None, f"not installed: {', '.join(lacks)}", install)


def _database(url: str, config: Path | None) -> str:
    """Say what the state database holds, or that the first run will make it."""
    absent = absent_file(url)
    if absent is not None:
        there = next(place for place in absent.absolute().parents if place.exists())
        if there.is_dir() and os.access(there, os.W_OK):
            return f"{absent} is not there yet: the first run makes it"
        missing = ConfigurationError(f"{absent} is missing, and cannot be made there")
        raise missing.mended_by("point `database` to a writable place")
    found = inspected(url)
    if found.version == HEAD:
        holds = f"{found.name}, schema {HEAD}"
        if found.may_write:
            return holds
        raise ConfigurationError(f"{holds}, which this user may not write").mended_by(
            "let an administrator grant this user INSERT, UPDATE and DELETE on the tables"
        )
    if found.may_make:
        return f"{found.name}, empty: the first run makes the tables"
    sql = _command("state migrate --sql", config)
    raise ConfigurationError(f"{found.name}, empty, where this user may make no tables").mended_by(
        f"let an administrator run what this prints: {sql}"
    )


def models(settings: s.Settings) -> Iterator[Diagnosis]:
    """Ask every model one thing."""
    reached = True
    if isinstance(settings.generator, s.OpenAiGenerator):
        check = attempt("service", lambda: _service(settings), "set `base_url` and `model`")
        reached = bool(check.ok)
        yield check
    if reached:  # else the same would be said again
        yield attempt("generator", lambda: _generator(settings), _see("generator"))
    if reached or not isinstance(settings.relations, s.LanguageModel):
        yield attempt("relations", lambda: _relations(settings), _see("relations"))
    if _embeds(settings):
        yield attempt("embedder", lambda: _embedder(settings), _see("embedder"))
    if not isinstance(settings.tokens, s.NoTokens):
        remedy = f"{_see('tokens')}; attribution needs them, most defences do not"
        yield attempt("token probabilities", lambda: _tokens(settings), remedy)


def _see(section: str) -> str:
    return f"see the section `{section}` of the settings"


def _service(settings: s.Settings) -> str:
    """Reach a remote model's service. Raises ModelError if it cannot be reached."""
    where = getattr(settings.generator, "base_url", "the service")
    if not build.probe_service(settings):
        remedy = "start the service, or set `base_url`"
        raise ModelError(f"{where} cannot be reached").mended_by(remedy)
    return f"{where} answers"


def _generator(settings: s.Settings) -> str:
    model = build.build_generator(settings.generator)
    return f"{model.model_id}: {QUESTION} -> {model.complete([PROMPT])[0].text.strip()}"


def _relations(settings: s.Settings) -> str:
    scorer = build.build_relations(
        settings.relations, lambda: build.build_generator(settings.generator)
    )
    row = scorer.probabilities([AnswerPair(QUESTION, "Lima", "Lima, Peru")])[0]
    return f"{scorer.model_id}: Lima entails Lima, Peru with {row[0]:.2f}"


def _embeds(settings: s.Settings) -> bool:
    """Whether relations or the defence of these settings ask for embeddings."""
    if isinstance(settings.relations, s.AnswerAgreement):
        return True
    try:
        defense, _ = build.build_methods(settings)
    except ConfigurationError:
        return True  # the check of the settings tells
    unlike = isinstance(defense, Radar) and defense.similarity_threshold > -1.0
    return unlike or not isinstance(defense, Radar | Voices)


def _embedder(settings: s.Settings) -> str:
    model = build.build_embedder(settings.embedder)
    return f"{model.model_id}: {model.embed([PASSAGE]).shape[1]} dimensions"


def _tokens(settings: s.Settings) -> str:
    """Ask how probable a reply is, unless weights of half a gigabyte must be written for it."""
    scorer = build.build_tokens(settings)
    if scorer is None:
        return f"none: the service may tell them, {_see('tokens')}"
    if isinstance(scorer, GgufTokens):
        return f"{scorer.model_id}: the first use converts the weights, for some seconds"
    try:
        (row,) = scorer.log_probs([ContinuationQuery((PROMPT,), "Lima")])[0]
    finally:
        if isinstance(scorer, OpenAiTokens):
            scorer.close()
    return f"{scorer.model_id}: Lima has probability {math.exp(row.sum()):.2f}"


def local_servers(settings: s.Settings) -> Iterator[Diagnosis]:
    """Say which servers of models answer at the usual ports of loopback and how to use one."""
    found = False
    for name, port in PORTS.items():
        address = f"http://127.0.0.1:{port}/v1"
        try:
            models = models_at(address, LISTING_S)
        except ModelError:
            continue
        found = True
        yield Diagnosis(name, True, _offer(settings.generator, address, writers(models)))
    if not found:
        said = "none on this machine: " + ", ".join(f"{n} ({port})" for n, port in PORTS.items())
        better = ""
        if isinstance(settings.generator, s.LlamaCpp) and settings.generator.model_path is None:
            better = "the embedded model has 270 million parameters, which limits the answers: "
            better += "see docs/models.md"
        yield Diagnosis("local servers", None, said, better)


def _offer(generator: s.GeneratorSettings, address: str, writing: list[str]) -> str:
    """What a server has, and what to type unless these settings ask it already."""
    if not writing:
        return f"{address} answers and has no model that writes text"
    has = f"{address} has {named(writing)}"
    if isinstance(generator, s.OpenAiGenerator) and generator.model in writing:
        return has
    typed = f"--model {shlex.quote(writing[0])} --base-url {address}"
    return f"{has}. To use it, add to a command: {typed}"


def searches(settings: s.Settings) -> Iterator[Diagnosis]:
    """Say whether the search service works if one is chosen, or whether SearXNG is on loopback."""
    options = settings.search
    variable = options.api_key_variable or SEARCHES[SearchOptions().name].key_variable
    asked = bool(options.model_fields_set) or settings.serving.source == "search"
    if chosen := asked or variable in os.environ:
        yield attempt("search", lambda: check_search(options), "see docs/searches.md")
    near = [found for port in SEARXNG_PORTS if (found := _searxng_at(port, options))]
    yield from near
    if not chosen and not near:
        ports = ", ".join(map(str, SEARXNG_PORTS))
        none = f"no key in {variable} and no SearXNG on this machine ({ports})"
        yield Diagnosis("search", None, none, "docs/searches.md starts one, without an account")


def _searxng_at(port: int, chosen: SearchOptions) -> Diagnosis | None:
    """What a SearXNG at a port of loopback needs to be used; None for anything else there, and for
    the one that is chosen.
    """
    url = f"http://127.0.0.1:{port}"
    if (chosen.name, chosen.base_url or SearXng.base_url) == (SearXng.name, url):
        return None  # it is checked already
    options = SearchOptions(name=SearXng.name, base_url=url, timeout_s=LISTING_S)
    try:
        with closing(search_client(options)) as client:
            about = client.ask(ABOUT, seconds=LISTING_S).answer
            if not {"instance_name", "engines"} <= about.keys():
                return None
            has = client.check()
    except SearchError:
        return None
    except ConfigurationError as error:
        return Diagnosis("SearXNG", None, f"{url}: {error}", error.remedy)
    base = "" if url == SearXng.base_url else f' and search.base_url = "{url}"'
    use = f'To use it, set search.name = "{options.name}"{base}'
    return Diagnosis("SearXNG", True, f"{has}. {use}")


def broker(options: KafkaOptions, config: Path | None = None) -> Iterator[Diagnosis]:
    """Ask the broker for our topics; none is made."""
    start = "start Kafka, or correct section `kafka`"
    if not _answers(options):  # the client would try for a while
        yield Diagnosis("broker", False, f"nobody listens at {options.bootstrap}", start)
        return
    try:
        with naming_extra():
            from radarstream.connectors.kafka.topics import describe_topics
        topics = describe_topics(options.model_copy(update={"request_timeout_s": BROKER_S}))
    except (BrokerError, ConfigurationError) as error:
        yield Diagnosis("broker", False, str(error), error.remedy or start)
        return
    yield Diagnosis("broker", True, options.bootstrap)
    missing = [topic.name for topic in topics if not topic.exists]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(topics)} exist"
    yield Diagnosis("topics", not missing, found, _command("topics create", config))


def _answers(options: KafkaOptions) -> bool:
    """Whether somebody listens at a bootstrap address."""
    for server in options.bootstrap.split(","):
        try:
            socket.create_connection(host_and_port(server.strip()), CONNECT_S).close()
        except OSError:
            continue
        return True
    return False


def _command(words: str, config: Path | None) -> str:
    """A command to be typed, on the settings file that doctor was given."""
    given = f" --config {shlex.quote(str(config))}" if config else ""
    return f"radarstream {words}{given}"
