"""The record of a replay, stored with its results: settings, models, code, prompts and cost."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from radarstream.pipelines.job.replaying.source import Planting
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.prompts import prompt_digests
from radarstream.schemas.errors import ConfigurationError

# Folders of the code that computes answers.
ANSWERING = ("defenses", "lab/kernels", "lab/methods", "pipelines/round", "pipelines/signals",
             "schemas")  # fmt: skip


def code_revision() -> str:
    """The git revision of a checkout, marked if changed, or else the package version."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return f"v{version('radarstream')}"
    return found.stdout.strip()


@cache
def code_digest(parts: tuple[str, ...] = ANSWERING) -> str:
    """A digest of the code and tables in these folders of the package, if they are installed."""
    digest, package = sha256(), Path(str(files("radarstream")))
    kinds = ("*.py", "*.toml")
    for file in sorted(f for part in parts for kind in kinds for f in (package / part).rglob(kind)):
        digest.update(f"{file.relative_to(package)}\0".encode())
        digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def reworded(earlier: Mapping[str, str]) -> list[str]:
    """Describe which prompts have changed digests."""
    wordings = prompt_digests()
    changed = sorted(task for task, digest in earlier.items() if wordings.get(task) != digest)
    return [f"the wording of the prompts {', '.join(changed)} has changed"] if changed else []


def differing(
    before: Mapping[str, object], after: Mapping[str, object], colon: str = ":"
) -> list[str]:
    """Describe the names whose values differ."""
    return [
        f"{name}{colon} {in_short(before.get(name))} there, {in_short(after.get(name))} here"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def in_short(value: object) -> str:
    """A value in an error message."""
    if isinstance(value, dict):
        return ", ".join(map(str, value.values()))
    return str(value)[:120] or "none"


# Sections of settings that answers depend on.
DECIDING = ("defense", "retrieval", "limits")


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage's totals. `requests` = `model_calls` + `cache_hits`; seconds are wall clock."""

    stage: str
    requests: int
    model_calls: int
    cache_hits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Provenance and totals (zero until `finished`) of one replay. `prompts` and `code` are digests
    of the prompts by task and of the code that computes answers, empty if unknown.
    """

    settings: dict[str, Any]
    revision: str
    models: dict[str, str]
    stages: tuple[StageCost, ...] = ()
    snapshots: int = 0
    answers: int = 0
    dead_letters: int = 0
    seconds: float = 0.0
    attacks: tuple[Planting, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    code: str = ""
    finished: bool = True


def begun(settings: Settings, guard: DefensePipeline[Any]) -> RunRecord:
    """The record of a replay that starts now."""
    return RunRecord(
        settings=settings.model_dump(mode="json"),
        revision=code_revision(),
        models=guard.models.ids,
        prompts=prompt_digests(),
        code=code_digest(),
        finished=False,
    )


def check_resumable(earlier: RunRecord, now: RunRecord) -> None:
    """Raise ConfigurationError with the differences, unless both give the same answers."""
    found = [*differing(identity(earlier), identity(now)), *reworded(earlier.prompts)]
    if earlier.code not in ("", now.code):
        found.append("the code that computes answers has changed")
    if found:
        raise ConfigurationError(
            f"the results there are of another replay: {'; '.join(found)}. Repeat its command, or "
            "start over without --resume (answers of the models are kept)"
        )


def identity(record: RunRecord) -> dict[str, object]:
    """The models and settings that determine an answer, by name."""
    sections = {name: record.settings.get(name) for name in DECIDING}
    return {f"models.{name}": id_ for name, id_ in record.models.items()} | dict(flat(sections))


def flat(settings: dict[str, Any], start: str = "") -> Iterator[tuple[str, object]]:
    """Flatten nested settings to names with dots."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
