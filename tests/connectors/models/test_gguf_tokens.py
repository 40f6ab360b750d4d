"""Token probabilities of a GGUF file: the conversion's weights, its place on disk, its errors."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from gguf import GGUFReader, GGUFWriter, dequantize, quantize

from radarstream.connectors.models import gguf_weights
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.gguf_weights import cache_directories, converted
from radarstream.connectors.models.rendering import completion_text
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import ContinuationQuery, Task
from tests import tiny_gguf

PROMPTS = tuple(
    build_prompt(Task.ATOMIC_ANSWER, "Where does Aldo live?", (f"In {town}.",))
    for town in ("Bern", "Oslo in the rain, and in the snow")
)


ROUNDING = 2e-2  # of activations in half precision, of logits around 12


def ids_of(*words: str) -> list[int]:
    return [tiny_gguf.vocabulary().index(word) for word in words]


def tiny_ids(text: str) -> list[int]:
    """A text's tokens: the longest known words first, byte by byte what is in none."""
    words = {word: index for index, word in enumerate(tiny_gguf.vocabulary())}
    found, rest = [words["<bos>"]], text.replace(" ", "▁")
    while rest:
        known = next((rest[:n] for n in range(len(rest), 0, -1) if rest[:n] in words), "")
        found += [words[known]] if known else [words[f"<0x{b:02X}>"] for b in rest[0].encode()]
        rest = rest[len(known) or 1 :]
    return found


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.build(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place))
        yield place


def test_the_weights_are_the_models_own(gguf: Path) -> None:
    """Norms and metadata as they are, matrices as half precision reads their eight bits."""
    before, after = GGUFReader(gguf), GGUFReader(converted(gguf, "weights"))
    kept = before.fields.keys() - {"general.quantization_version"}
    assert kept <= after.fields.keys()
    for name in kept - {"GGUF.kv_count"}:
        assert after.fields[name].contents() == before.fields[name].contents()
    assert [tensor.name for tensor in after.tensors] == [tensor.name for tensor in before.tensors]
    kinds = {tensor.tensor_type.name for tensor in after.tensors}
    assert kinds == {"F32", "F16"}
    for old, new in zip(before.tensors, after.tensors, strict=True):
        expected = dequantize(old.data, old.tensor_type)
        np.testing.assert_array_equal(new.data, expected.astype(new.data.dtype))


def test_probabilities_are_those_of_one_plain_forward_pass(gguf: Path) -> None:
    tokens = GgufTokens(gguf, threads=1)
    (logs,) = tokens.log_probs([ContinuationQuery(PROMPTS, "Oslo is")])
    original = tiny_gguf.model()
    said = ids_of("▁Osl", "o", "▁is")
    for prompt, row in zip(PROMPTS, logs, strict=True):
        ids = tiny_ids(completion_text(prompt))
        with torch.inference_mode():
            plain = original(torch.tensor([[*ids, *said]])).logits[0].double().log_softmax(-1)
        expected = [float(plain[len(ids) - 1 + i, token]) for i, token in enumerate(said)]
        np.testing.assert_allclose(row, expected, atol=ROUNDING)


def test_a_rank_counts_the_tokens_that_are_more_probable(gguf: Path) -> None:
    (ranks,) = GgufTokens(gguf, threads=1).ranks([ContinuationQuery(PROMPTS, "Oslo is")])
    original = tiny_gguf.model()
    (token,) = ids_of("▁Osl")
    for prompt, rank in zip(PROMPTS, ranks, strict=True):
        with torch.inference_mode():
            logs = original(torch.tensor([tiny_ids(completion_text(prompt))])).logits[0, -1]
        beaten = [int((logs > logs[token] + off).sum()) for off in (ROUNDING, -ROUNDING)]
        assert beaten[0] <= rank - 1 <= beaten[1]


def test_a_file_is_converted_once_and_an_interrupted_conversion_leaves_nothing(
    gguf: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(source: Path, target: Path) -> None:
        target.write_bytes(b"half of it")
        raise ModelError("stopped")

    file = converted(gguf, "once")
    monkeypatch.setattr(gguf_weights, "_convert", stop)
    assert converted(gguf, "once") == file
    with pytest.raises(ModelError, match="stopped"):
        converted(gguf, "interrupted")
    assert list((cache / "radarstream").glob("interrupted*")) == []


class TestSharedTemporaryDirectory:
    """Where the home directory cannot be written, as in some containers."""

    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return cache_directories()[-1]

    def test_it_is_made_for_its_user_alone(self, gguf, place, monkeypatch):
        assert converted(gguf, "shared").parent == place
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        for mode in (0o770, 0o702, 0o1777):
            place.chmod(mode)
            with pytest.raises(ModelError, match="another user could write"):
                converted(gguf, "shared")
        place.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(place, 12_345, -1)
        else:
            stranger = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: stranger)
        with pytest.raises(ModelError, match="another user could write"):
            converted(gguf, "shared")

    def test_a_link_is_not_trusted(self, gguf: Path, place: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ModelError, match="another user could write"):
            converted(gguf, "shared")


def test_another_file_is_another_model(gguf: Path, tmp_path: Path) -> None:
    other = tmp_path / gguf.name
    other.write_bytes(gguf.read_bytes() + b"\0")
    assert GgufTokens(other).model_id != GgufTokens(gguf).model_id
    assert GgufTokens(gguf).model_id.startswith("llama.cpp/tiny@")


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot convert"):
        converted(broken, "broken")
    empty = tmp_path / "empty.gguf"
    writer = GGUFWriter(empty, "gemma3")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelError, match="cannot"):
        GgufTokens(empty).log_probs([ContinuationQuery(PROMPTS, "Oslo")])
    with pytest.raises(ModelError, match="cannot read"):
        _ = GgufTokens(tmp_path / "none").model_id
    with pytest.raises(ModelError, match="cannot read"):
        GgufTokens(tmp_path / "none").log_probs([ContinuationQuery(PROMPTS, "Oslo")])


def test_weights_that_half_precision_cannot_hold_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    writer = GGUFWriter(large, "gemma3")
    values = quantize(np.full((2, 32), 1e5, np.float32), tiny_gguf.EIGHT_BITS)
    writer.add_tensor("token_embd.weight", values, raw_dtype=tiny_gguf.EIGHT_BITS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match=r"token_embd.weight .* half precision"):
        converted(large, "large")
