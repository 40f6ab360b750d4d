"""Which code, packages and prompts produced a result."""

import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from radarstream.pipelines.signals.prompts import prompt_digests


def code_revision() -> str:
    """The git revision of a checkout, marked if changed, or else the package version."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return f"v{version('radarstream')}"
    return found.stdout.strip()


def reworded(earlier: Mapping[str, str]) -> list[str]:
    """Which prompts have other digests now, in words."""
    wordings = prompt_digests()
    changed = sorted(task for task, digest in earlier.items() if wordings.get(task) != digest)
    return [f"the wording of the prompts {', '.join(changed)} has changed"] if changed else []


def differing(
    before: Mapping[str, object], after: Mapping[str, object], colon: str = ":"
) -> list[str]:
    """What must be equal by its name, and is not, in words."""
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
