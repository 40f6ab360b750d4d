"""A Gemma 3 model in a GGUF file as a directory that `transformers` loads, converted once.

`transformers` reads GGUF files itself, but needs 80 seconds and 3.3 GB at every start for the
embedded model, and cannot save the result. Here the weights are de-quantised row block by row
block with the `gguf` library and stored in half precision in the user's cache directory.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any, Final

from radarstream.connectors.models.gguf_weights import (
    cache_directories,
    check_cache,
    make_cache,
    remove_abandoned,
)
from radarstream.connectors.models.local_weights import file_sha256, forbid_hub_access
from radarstream.schemas.errors import ModelError

# Part of the directory's name and of model ids: raise it when a conversion gives other weights.
CONVERSION_VERSION: Final = "c1"
ARCHITECTURE: Final = "gemma3"
_SUMS: Final = "checksums.json"
_WEIGHTS: Final = "model.safetensors"
_ROWS: Final = 16_384  # de-quantised at once: 42 MB of the embedding table of 640 columns
_TOP: Final = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def converted(gguf: Path, name: str) -> Path:
    """The directory of the converted model, converting on first use (a minute of one core).

    Lies in the user's cache directory, or in a temporary one, under `name` and the checksum of the
    file. Concurrent callers are safe: it appears in one rename, and is read only after its own
    checksums are found right. Raises ModelError.
    """
    failures = []
    for target in _targets(gguf, name):
        try:
            make_cache(target.parent)
            remove_abandoned(target)
            if _sound(target):
                return target
            _convert_into(gguf, target)
        except OSError as error:
            failures.append(f"{target.parent}: {error}")
            continue
        if _sound(target):
            return target
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
        _convert(gguf, made)
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


def _convert(gguf: Path, directory: Path) -> None:
    """Write configuration, weights and tokenizer into `directory`."""
    forbid_hub_access()
    try:
        from gguf import GGUFReader
        from safetensors.torch import save_file
        from transformers import AutoTokenizer, PreTrainedTokenizerFast
    except ImportError as error:
        raise ModelError(
            f"{error.name} is not installed, which token probabilities of a GGUF model need: "
            "install the extra `embedded`"
        ) from error
    try:
        reader = GGUFReader(str(gguf))
        _configuration(reader).save_pretrained(directory)
        weights = dict(_weights(reader))
        save_file(weights, directory / _WEIGHTS, metadata={"format": "pt"})
        del weights
        read = AutoTokenizer.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, local_files_only=True
        )
        # The general class reads the same file in a third of the time.
        general: Any = PreTrainedTokenizerFast
        general(
            tokenizer_object=read.backend_tokenizer,
            bos_token=read.bos_token,
            eos_token=read.eos_token,
            unk_token=read.unk_token,
            pad_token=read.pad_token,
        ).save_pretrained(directory)
    except (ValueError, KeyError, IndexError, NotImplementedError, RuntimeError) as error:
        raise ModelError(f"cannot convert {gguf}: {error}") from error


def _configuration(reader: Any) -> Any:
    from transformers import Gemma3TextConfig

    found = reader.fields["general.architecture"].contents()
    if found != ARCHITECTURE:
        raise ModelError(
            f"token probabilities of a GGUF file of architecture {found!r} are not supported, only "
            f"of {ARCHITECTURE!r}: set the section `tokens` to another model, or kind to `none`"
        )

    def value(key: str) -> Any:
        return reader.fields[f"{ARCHITECTURE}.{key}"].contents()

    return Gemma3TextConfig(
        architectures=["Gemma3ForCausalLM"],
        vocab_size=len(reader.fields["tokenizer.ggml.tokens"].data),
        hidden_size=value("embedding_length"),
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=value("attention.head_count"),
        num_key_value_heads=value("attention.head_count_kv"),
        head_dim=value("attention.key_length"),
        query_pre_attn_scalar=value("attention.key_length"),
        max_position_embeddings=value("context_length"),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        sliding_window=value("attention.sliding_window"),
        tie_word_embeddings=all(tensor.name != "output.weight" for tensor in reader.tensors),
    )


def _weights(reader: Any) -> Iterator[tuple[str, Any]]:
    """Names as `transformers` knows them, with tensors: matrices float16, vectors float32."""
    import torch
    from gguf import dequantize

    for tensor in reader.tensors:
        name = weight_name(tensor.name)
        if tensor.data.ndim == 1:
            # llama.cpp multiplies by the weight, transformers by one more than it.
            less = 1.0 if name.endswith("norm.weight") else 0.0
            values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type) - less)
        else:
            columns, rows = (int(size) for size in tensor.shape)
            values = torch.empty((rows, columns), dtype=torch.float16)
            for start in range(0, rows, _ROWS):
                block = dequantize(tensor.data[start : start + _ROWS], tensor.tensor_type)
                values[start : start + len(block)] = torch.from_numpy(block)
        if not bool(torch.isfinite(values).all()):
            raise ModelError(f"{tensor.name} holds weights that half precision cannot")
        yield name, values


def weight_name(name: str) -> str:
    """A tensor's name in `transformers`. Raises ModelError for one that Gemma 3 does not have.

    >>> weight_name("blk.3.attn_q.weight")
    'model.layers.3.self_attn.q_proj.weight'
    """
    if name in _TOP:
        return _TOP[name]
    match name.split("."):
        case ["blk", number, kind, "weight"] if kind in _LAYER:
            return f"model.layers.{number}.{_LAYER[kind]}.weight"
    raise ModelError(f"a tensor {name!r} is no part of a Gemma 3 model")
