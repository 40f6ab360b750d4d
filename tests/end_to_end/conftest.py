"""A directory of its own for a command, and a file of questions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from radarstream.schemas.codec import encode
from tests.commands import forget_shared
from tests.lab.attribution_studies import towns


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test runs in a directory of its own, as a process of its own would."""
    monkeypatch.chdir(tmp_path)
    yield
    forget_shared()


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Snapshots of towns."""
    file = tmp_path / "towns.jsonl"
    lines = [encode(snapshot) + b"\n" for history in towns().histories for snapshot in history]
    file.write_bytes(b"".join(lines))
    return file
