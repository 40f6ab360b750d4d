"""Which code an answer depends on: rows computed by other code are not gone on with."""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from radarstream.schemas.tasks import TASKS

PACKAGES = (
    "radarstream.defenses",
    "radarstream.lab.kernels",
    "radarstream.lab.methods",
    "radarstream.pipelines.signals",
    "radarstream.schemas",
)  # whose modules are followed
SHARED = (
    "radarstream.pipelines.round.deciding",
    "radarstream.pipelines.round.gathering",
    "radarstream.pipelines.round.pipeline",
    "radarstream.pipelines.round.values",
)


def digest_of(roots: Iterable[str]) -> str:
    """A digest of modules, of what they import from `PACKAGES` and of how replies are read."""
    read_as = sorted((spec.task.value, spec.reply.name) for spec in TASKS.values())
    digest = sha256(repr(read_as).encode())
    for name in sorted(modules_from(roots)):
        digest.update(f"{name}\0".encode() + sha256(source_of(name)).digest())
    return digest.hexdigest()[:12]


def modules_from(roots: Iterable[str]) -> set[str]:
    """The roots and what they import, directly or not, from `PACKAGES`."""
    found: set[str] = set()
    left = list(roots)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += imported_by(name)
    return found


@cache
def imported_by(name: str) -> tuple[str, ...]:
    """The modules of `PACKAGES` that a loaded module imports at its top."""
    names: set[str] = set()
    for statement in ast.parse(source_of(name)).body:
        if isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            inside = {f"{statement.module}.{alias.name}" for alias in statement.names}
            names |= {statement.module, *(inside & sys.modules.keys())}
    ours = (n for n in names if n.startswith(tuple(f"{package}." for package in PACKAGES)))
    return tuple(sorted(set(ours)))


@cache
def source_of(name: str) -> bytes:
    """The source of a module, as it was when first asked for; nothing without a file."""
    file = import_module(name).__file__
    return Path(file).read_bytes() if file else b""
