"""A file of questions, a tiny encoder on disk, one thread, and browsers for pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from radarstream.schemas.codec import encode
from tests import tiny_encoders
from tests.lab.attribution_studies import towns
from tests.pipelines.pages.headless_browser import browser, browsers

__all__ = ["browser", "browsers"]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Snapshots of towns."""
    file = tmp_path / "towns.jsonl"
    lines = [encode(snapshot) + b"\n" for history in towns().histories for snapshot in history]
    file.write_bytes(b"".join(lines))
    return file


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoders.build(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small batches gain nothing from a second thread, and lose much where others work."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
