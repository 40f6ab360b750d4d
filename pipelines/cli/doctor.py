"""`radarstream doctor`: what works here, what is missing, how to get it."""

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.table import Table
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from connectors.models.gguf_tokens import GgufTokens
from connectors.models.openai_http.tokens import OpenAiTokens
from connectors.state_table.engine import open_engine
from connectors.state_table.migration import stored_version
from pipelines.build import build_models, build_tokens, probe_service, shared_engine
from pipelines.cli.doctor_job import Check, answers, broker_answers, job_checks
from pipelines.cli.options import AsJson, ChosenProfile, Config
from pipelines.cli.terminal import cell, print_json, stdout
from pipelines.settings import NoTokens, OpenAiGenerator, Profile, Settings, load_settings
from pipelines.signals.prompts import build_prompt
from schemas.errors import ConfigurationError, ModelError
from schemas.prompt import AnswerPair, Prompt, Task
from schemas.tokens import ContinuationQuery

GIB = 2**30
ENOUGH_DISK = 2 * GIB
POSTGRESQL_PORT = 5432
LIBRARIES = {
    "embedded": (
        "apache-beam",
        "gguf",
        "ortools",
        "sentence-transformers",
        "sqlalchemy",
        "xllamacpp",
    ),
    "api": ("apache-beam", "ortools", "sqlalchemy", "httpx", "sentence-transformers"),
    "gpu": ("apache-beam", "ortools", "sqlalchemy", "torch", "transformers"),
    "scripted": ("apache-beam", "ortools", "sqlalchemy"),
}


def doctor(
    config: Config = None,
    profile: ChosenProfile = None,
    as_json: AsJson = False,
) -> None:
    """Say what works on this machine, what is missing and how to get it.

    With --config, or when a broker answers, also what the continuous job needs.
    """
    settings = load_settings(config, profile=profile)
    checks = list(examine(settings))
    if config or broker_answers(settings.kafka):
        checks += job_checks(settings)
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_checks(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def examine(settings: Settings) -> Iterator[Check]:
    """Run every check; none raises."""
    yield Check(
        "python",
        sys.version_info >= (3, 11),
        sys.version.split()[0],
        "install Python 3.11 or newer",
    )
    for name in LIBRARIES[settings.profile]:
        yield library(name, settings.profile)
    yield disk()
    stored = attempt("database", lambda: database(settings), "point `database` to a writable place")
    yield stored
    if stored.ok:  # the models' answers are cached there
        yield from models(settings)


def reinstall(profile: Profile) -> str:
    """Say how to get what a profile needs; the scripted one needs no extra."""
    extra = {"scripted": "", "api": "[embedded]"}.get(profile, f"[{profile}]")
    return f"reinstall: pip install 'radarstream{extra}'"


def library(name: str, profile: Profile) -> Check:
    """Look up an installed library."""
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, "not installed", reinstall(profile))


def disk() -> Check:
    """Check the free space where results are written."""
    free = shutil.disk_usage(Path.cwd()).free
    return Check("disk", free >= ENOUGH_DISK, f"{free / GIB:.1f} GiB free", "free some disk space")


def database(settings: Settings) -> str:
    """Name the schema of the state database; a file that is not there is not made."""
    given = make_url(settings.database)
    if given.host and not answers(given.host, given.port or POSTGRESQL_PORT):
        raise ConfigurationError(f"nobody listens at {given.host}:{given.port or POSTGRESQL_PORT}")
    if (absent := absent_file(settings)) is not None:
        there = next(place for place in absent.absolute().parents if place.exists())
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise ConfigurationError(f"{absent} is missing, and cannot be made there")
        return f"{absent} is not there yet: the first run makes it"
    engine = shared_engine(settings)
    with engine.connect() as connection:
        schema = stored_version(connection)
    return f"{engine.url.render_as_string(hide_password=True)}, schema {schema}"


def absent_file(settings: Settings) -> Path | None:
    """The file of the state database where it is one that does not exist."""
    given = make_url(settings.database)
    if given.get_backend_name() != "sqlite" or not given.database:
        return None
    file = Path(given.database)
    return None if file.exists() else file


@contextmanager
def trial_engine(settings: Settings) -> Iterator[Engine]:
    """The state database, or one that is gone afterwards where there is none yet."""
    if absent_file(settings) is None:
        yield shared_engine(settings)
        return
    with TemporaryDirectory() as directory:
        engine = open_engine(f"sqlite:///{directory}/trial.sqlite")
        try:
            yield engine
        finally:
            engine.dispose()


def models(settings: Settings) -> Iterator[Check]:
    """Ask every model one thing, past the cache's answers of earlier runs."""
    with trial_engine(settings) as engine:
        yield from models_on(engine, settings)


def models_on(engine: Engine, settings: Settings) -> Iterator[Check]:
    """Ask the models whose answers are cached in this database."""
    try:
        built = build_models(settings, engine)
    except ConfigurationError as error:
        yield Check("models", False, str(error), reinstall(settings.profile))
        return
    question, passage = "What is the capital of Peru?", "Lima is the capital of Peru."
    prompt = build_prompt(Task.ATOMIC_ANSWER, question, (passage,))
    pair = AnswerPair(question, "Lima", "Lima, Peru")

    def generate() -> str:
        text = built.generator.complete([prompt])[0].text.strip()
        return f"{built.generator.model_id}: {question} -> {text}"

    def relate() -> str:
        row = built.relations.probabilities([pair])[0]
        return f"{built.relations.model_id}: Lima entails Lima, Peru with {row[0]:.2f}"

    def embed() -> str:
        vectors = built.embedder.embed([passage])
        return f"{built.embedder.model_id}: {vectors.shape[1]} dimensions"

    remedy = reinstall(settings.profile)
    if isinstance(settings.generator, OpenAiGenerator):
        yield attempt("service", lambda: service(settings), "set the key, URL and model")
    yield attempt("generator", generate, remedy)
    yield attempt("relations", relate, remedy)
    yield attempt("embedder", embed, remedy)
    if not isinstance(settings.tokens, NoTokens):
        yield attempt(
            "token probabilities",
            lambda: token_probabilities(settings, prompt),
            "see the section `tokens`; attribution needs them, most defences do not",
        )


def service(settings: Settings) -> str:
    """Say what a remote model's service offers. Raises ModelError if it cannot be reached."""
    found = probe_service(settings)
    if found is None or not found.reachable:
        raise ModelError("cannot be reached")
    return str(found)


def token_probabilities(settings: Settings, prompt: Prompt) -> str:
    """Ask how probable a reply is, unless weights must be converted first.

    Past the cache, for an answer of an earlier run tells nothing about today's.
    """
    scorer = build_tokens(settings)
    if scorer is None:
        return "none: the service may tell them, see the section `tokens` of the settings"
    if isinstance(scorer, GgufTokens) and not scorer.is_converted():
        return f"{scorer.model_id}: the first use converts the weights, for a minute or more"
    try:
        (row,) = scorer.log_probs([ContinuationQuery((prompt,), "Lima")])[0]
    finally:
        if isinstance(scorer, OpenAiTokens):
            scorer.close()
    return f"{scorer.model_id}: Lima has probability {math.exp(row.sum()):.2f}"


def attempt(name: str, try_out: Callable[[], str], remedy: str) -> Check:
    """Turn a failure into a finding."""
    try:
        return Check(name, True, try_out())
    except (ConfigurationError, ModelError) as error:
        return Check(name, False, str(error), remedy)
    except ArgumentError:  # its words repeat the URL
        return Check(name, False, "the state database URL cannot be read", remedy)


def print_checks(checks: list[Check]) -> None:
    """Print the findings as a table."""
    table = Table("check", "", "found", "what to do", title="radarstream doctor")
    for check in checks:
        mark = cell("ok", "green") if check.ok else cell("missing", "bold red")
        remedy = "" if check.ok else check.remedy
        table.add_row(check.name, mark, cell(check.found, limit=120), cell(remedy, limit=120))
    stdout.print(table)
