"""A GGUF file through transformers: the conversion's weights, its place on disk, its errors."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from gguf import GGUFWriter

from radarstream.connectors.models import gguf_conversion
from radarstream.connectors.models.gguf_conversion import converted, is_converted, weight_name
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.gguf_weights import cache_directories
from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.connectors.models.rendering import completion_text
from radarstream.connectors.models.transformers_generator import prompt_tokens
from radarstream.connectors.models.transformers_tokens import continuation_tokens
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Task
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery
from tests import tiny_gguf

PROMPTS = tuple(
    build_prompt(Task.ATOMIC_ANSWER, "Where does Aldo live?", (f"In {town}.",))
    for town in ("Bern", "Oslo in the rain, and in the snow")
)


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.build(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place))
        yield place


def loaded(gguf: Path):
    return GgufTokens(gguf)._scorer().generator.loaded()


def test_the_weights_are_the_models_own(gguf: Path) -> None:
    """Among them norms, of which the file holds one more than transformers wants."""
    model, _ = loaded(gguf)
    original = dict(tiny_gguf.model().named_parameters())
    converted_ones = dict(model.named_parameters())
    assert converted_ones.keys() == original.keys()
    for name, weight in converted_ones.items():
        assert weight.dtype == torch.float32
        torch.testing.assert_close(weight, original[name], atol=1e-6, rtol=0)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="tells no mapped files")
def test_a_loaded_model_leaves_its_file(gguf: Path) -> None:
    """A view of the mapped file, such as a vector that needs no conversion, would keep it all."""
    model, _ = loaded(gguf)
    file = model.config._name_or_path + "/model.safetensors"
    assert Path(file).is_file()
    assert file not in Path("/proc/self/maps").read_text()


def test_the_tokens_are_the_files(gguf: Path) -> None:
    _, tokenizer = loaded(gguf)
    words = tiny_gguf.vocabulary()
    assert [words[i] for i in tokenizer(" Oslo is n")["input_ids"]] == [
        "<bos>", "▁Osl", "o", "▁is", "▁", "n",
    ]  # fmt: skip
    assert [words[i] for i in tokenizer("ü", add_special_tokens=False)["input_ids"]] == [
        "<0xC3>", "<0xBC>",
    ]  # fmt: skip


def test_probabilities_are_those_of_one_plain_forward_pass(gguf: Path) -> None:
    tokens = GgufTokens(gguf)
    _, tokenizer = loaded(gguf)
    said = continuation_tokens(tokenizer, "Oslo is")
    (logs,) = tokens.log_probs([ContinuationQuery(PROMPTS, "Oslo is")])
    (step,) = tokens.next_tokens([NextTokenQuery(PROMPTS)])
    original = tiny_gguf.model()
    for prompt, row, following in zip(PROMPTS, logs, step.log_probs, strict=True):
        ids = prompt_tokens(tokenizer, prompt)
        with torch.inference_mode():
            plain = original(torch.tensor([[*ids, *said]])).logits[0].double().log_softmax(-1)
        expected = [float(plain[len(ids) - 1 + i, token]) for i, token in enumerate(said)]
        np.testing.assert_allclose(row, expected, atol=2e-4)
        np.testing.assert_allclose(row.sum(), sum(expected), atol=5e-4)
        np.testing.assert_allclose(following, plain[len(ids) - 1].numpy(), atol=2e-4)


@pytest.mark.bench
@pytest.mark.models
def test_the_embedded_model_says_what_llama_cpp_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run converts the weights, which takes a minute."""
    monkeypatch.undo()
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    server = LlamaCpp(slots=1)
    model, tokenizer = GgufTokens()._scorer().generator.loaded()
    asked = {"Peru": "Lima", "Norway": "Oslo", "Kenya": "Nairobi"}
    for country, capital in asked.items():
        question, page = f"What is the capital of {country}?", f"In {capital}, {country}'s capital."
        prompt = build_prompt(Task.ATOMIC_ANSWER, question, (page,))
        request = server._request(completion_text(prompt), 4) | {"logprobs": 1}
        reply = server._server().handle_completions(request)
        told = reply["choices"][0]["logprobs"]["content"]
        ids, said = prompt_tokens(tokenizer, prompt), [token["id"] for token in told]
        assert len(ids) == reply["usage"]["prompt_tokens"]
        with torch.inference_mode():
            logits = model(torch.tensor([[*ids, *said]]), logits_to_keep=len(said) + 1).logits[0]
        logs = logits[:-1].double().log_softmax(-1)
        assert int(logs[0].argmax()) == said[0]
        for row, token in zip(logs, told, strict=True):
            assert abs(float(row[token["id"]]) - token["logprob"]) < 0.3


def test_a_file_is_converted_once(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = converted(gguf, "once")
    assert is_converted(gguf, "once")
    monkeypatch.setattr(gguf_conversion, "_convert", None)  # calling it would fail
    assert converted(gguf, "once") == directory
    assert not is_converted(gguf, "never")


def test_damage_is_repaired_and_nothing_is_left_beside(gguf: Path, cache: Path) -> None:
    directory = converted(gguf, "damaged")
    weights = directory / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-4] + b"nope")
    assert converted(gguf, "damaged") == directory
    assert weights.read_bytes() == whole
    assert [p.name for p in directory.parent.glob("damaged*")] == [directory.name]


@pytest.mark.parametrize("sums", ["{}", "[]", "nonsense", "[" * 50_000])
def test_checksums_that_are_damaged_are_believed_in_nothing(gguf: Path, sums: str) -> None:
    directory = converted(gguf, "unsure")
    whole = (directory / "model.safetensors").read_bytes()
    (directory / "checksums.json").write_text(sums)
    (directory / "model.safetensors").write_bytes(b"nope")
    assert converted(gguf, "unsure") == directory
    assert (directory / "model.safetensors").read_bytes() == whole


def test_an_interrupted_conversion_leaves_nothing(
    gguf: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(source: Path, directory: Path) -> None:
        (directory / "config.json").write_text("{}")
        raise ModelError("stopped")

    monkeypatch.setattr(gguf_conversion, "_convert", stop)
    with pytest.raises(ModelError, match="stopped"):
        converted(gguf, "interrupted")
    assert list((cache / "radarstream").glob("interrupted*")) == []


@pytest.mark.parametrize("done", [False, True])
def test_what_killed_conversions_left_is_removed_a_day_later(gguf: Path, done: bool) -> None:
    first = converted(gguf, "killed")
    if not done:
        rmtree(first)
    ends = (".o1d_o1d_", ".new_new_", "x.o1d_o1d_")
    old, recent, other = (first.with_name(first.name + end) for end in ends)
    for place, age_s in ((old, 90_000), (recent, 3_600), (other, 90_000)):
        place.mkdir(exist_ok=True)
        (place / "model.safetensors").touch()
        changed = time.time() - age_s  # noqa: TID251 - as the file system's clock
        os.utime(place, (changed, changed))
    assert converted(gguf, "killed") == first
    assert [p.exists() for p in (old, recent, other)] == [False, True, True]


class TestSharedTemporaryDirectory:
    """Where the home directory cannot be written, as in some containers."""

    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return cache_directories()[-1]

    def test_it_is_made_for_its_user_alone(self, gguf: Path, place: Path) -> None:
        directory = converted(gguf, "shared")
        assert directory.parent == place
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert is_converted(gguf, "shared")

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
    def test_others_who_may_write_are_not_trusted(self, gguf: Path, place: Path, mode: int) -> None:
        converted(gguf, "shared")
        place.chmod(mode)
        assert not is_converted(gguf, "shared")
        with pytest.raises(ModelError, match="another user could write"):
            converted(gguf, "shared")

    def test_nor_is_another_owner(
        self, gguf: Path, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        converted(gguf, "shared")
        if os.geteuid() == 0:
            os.chown(place, 12_345, -1)
        else:
            stranger = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: stranger)
        assert not is_converted(gguf, "shared")
        with pytest.raises(ModelError, match="another user could write"):
            converted(gguf, "shared")

    def test_nor_a_link(self, gguf: Path, place: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ModelError, match="another user could write"):
            converted(gguf, "shared")


def test_another_file_is_another_model(gguf: Path, tmp_path: Path) -> None:
    other = tmp_path / gguf.name
    other.write_bytes(gguf.read_bytes() + b"\0")
    assert GgufTokens(other).model_id != GgufTokens(gguf).model_id
    assert GgufTokens(gguf).model_id.startswith("transformers/tiny@")


def test_other_architectures_and_files_are_refused(tmp_path: Path) -> None:
    llama = tmp_path / "llama.gguf"
    writer = GGUFWriter(llama, "llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelError, match="'llama' are not supported"):
        converted(llama, "llama")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot convert"):
        converted(broken, "broken")
    with pytest.raises(ModelError, match="cannot read"):
        _ = GgufTokens(tmp_path / "none").model_id
    with pytest.raises(ModelError, match="cannot read"):
        GgufTokens(tmp_path / "none").log_probs([ContinuationQuery(PROMPTS, "Oslo")])
    with pytest.raises(ModelError, match="no part of a Gemma 3 model"):
        weight_name("blk.0.ssm_in.weight")
