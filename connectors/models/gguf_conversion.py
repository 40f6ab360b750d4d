"""The quantised weights of a GGUF file in half precision, converted once.

llama.cpp multiplies quantised weights with activations that it rounds to eight bits, which moves
the logarithm of a token's probability by up to 0.8. With the same weights in half precision it
differs from single precision by 0.01. They are converted row block by row block with the `gguf`
library and kept in the user's cache directory.
"""

import json
import os
import tempfile
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.gguf_weights import (
    cache_directories,
    check_cache,
    make_cache,
    remove_abandoned,
)
from radarstream.connectors.models.local_weights import file_sha256
from radarstream.schemas.errors import ModelError

# Part of the directory's name and of model ids: raise it when a conversion gives other weights.
CONVERSION_VERSION: Final = "f16"
_SUMS: Final = "checksums.json"
_WEIGHTS: Final = "model.gguf"
_ROWS: Final = 16_384  # converted at once: 42 MB of the embedding table of 640 columns
_DERIVED: Final = frozenset({"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count"})
_REPLACED: Final = frozenset({"general.architecture", "general.quantization_version"})


def converted(gguf: Path, name: str) -> Path:
    """The file of the converted model, converting on first use (about 10 s of one core).

    Lies in the user's cache directory, or in a temporary one, under `name` and the checksum of the
    original. Concurrent callers are safe: it appears in one rename, and is read only after its own
    checksums are found right. Raises ModelError.
    """
    failures = []
    for target in _targets(gguf, name):
        try:
            make_cache(target.parent)
            remove_abandoned(target)
            if _sound(target):
                return target / _WEIGHTS
            _convert_into(gguf, target)
        except OSError as error:
            failures.append(f"{target.parent}: {error}")
            continue
        if _sound(target):
            return target / _WEIGHTS
        failures.append(f"{target}: damaged")
    raise ModelError(f"cannot convert {gguf}: " + "; ".join(failures))


def is_converted(gguf: Path, name: str) -> bool:
    """Whether `converted` would find it done. Raises ModelError without a readable file."""
    return any(_is_there(target) for target in _targets(gguf, name))


def _is_there(target: Path) -> bool:
    try:
        check_cache(target.parent)
        return (target / _SUMS).is_file()
    except OSError:
        return False


def _targets(gguf: Path, name: str) -> list[Path]:
    try:
        folder = f"{name}-{file_sha256(gguf)[:12]}-{CONVERSION_VERSION}"
    except OSError as error:
        raise ModelError(f"cannot read the model file {gguf}: {error.strerror}") from error
    return [directory / folder for directory in cache_directories()]


def _sound(directory: Path) -> bool:
    """Whether every file is there as it was written."""
    try:
        sums = json.loads((directory / _SUMS).read_bytes())
        whole = isinstance(sums, dict) and _WEIGHTS in sums
        return whole and all(file_sha256(directory / n) == value for n, value in sums.items())
    except (OSError, ValueError, RecursionError):
        return False


def _convert_into(gguf: Path, target: Path) -> None:
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}."))
    try:
        _convert(gguf, made / _WEIGHTS)
        sums = {path.name: file_sha256(path) for path in made.iterdir()}
        (made / _SUMS).write_text(json.dumps(sums), encoding="utf-8")
        if target.exists() and not _sound(target):
            rmtree(target, ignore_errors=True)
        if not target.exists():  # another process may have been first
            os.rename(made, target)  # noqa: PTH104 refuses a target that is there, as replace() not
    except OSError:
        if not _sound(target):
            raise
    finally:
        rmtree(made, ignore_errors=True)


def _convert(gguf: Path, target: Path) -> None:
    """Write the same model with its quantised matrices in half precision."""
    try:
        from gguf import GGUFReader, GGUFValueType, GGUFWriter
    except ImportError as error:
        raise ModelError(
            f"{error.name} is not installed, which token probabilities of a GGUF model need: "
            "install the extra `embedded`"
        ) from error
    try:
        reader = GGUFReader(str(gguf))
        writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
        for field in reader.fields.values():
            if field.name not in _DERIVED | _REPLACED:
                inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
                writer.add_key_value(field.name, field.contents(), field.types[0], inner)
        for tensor in reader.tensors:
            _announce(writer, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in reader.tensors:
            writer.write_tensor_data(_half(tensor) if _quantised(tensor) else tensor.data)
        writer.close()
    except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"cannot convert {gguf}: {error}") from error


def _quantised(tensor: Any) -> bool:
    return tensor.tensor_type.name not in {"F64", "F32", "F16", "BF16"}


def _shape(tensor: Any) -> tuple[int, ...]:
    """As numpy has it: the file names the fastest axis first."""
    return tuple(int(size) for size in reversed(tensor.shape))


def _announce(writer: Any, tensor: Any) -> None:
    """Say what is going to be written."""
    if _quantised(tensor):
        size = 2 * int(tensor.n_elements)
        writer.add_tensor_info(tensor.name, _shape(tensor), np.dtype(np.float16), size)
    else:
        writer.add_tensor_info(
            tensor.name, tensor.data.shape, tensor.data.dtype, tensor.n_bytes, tensor.tensor_type
        )


def _half(tensor: Any) -> NDArray[np.float16]:
    """A quantised tensor in half precision. Raises ModelError where that cannot hold it."""
    from gguf import dequantize

    values = np.empty(_shape(tensor), np.float16)
    for start in range(0, len(values), _ROWS):
        block = dequantize(tensor.data[start : start + _ROWS], tensor.tensor_type)
        if np.abs(block).max() > np.finfo(np.float16).max:
            raise ModelError(f"{tensor.name} holds weights that half precision cannot")
        values[start : start + len(block)] = block
    return values
