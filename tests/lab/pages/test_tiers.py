"""What kind of language model answered, told by the ids that the backends give themselves."""

from pathlib import Path

import pytest

from radarstream.connectors.models.bundled import GEMMA
from radarstream.connectors.models.gguf_weights import EMBEDDED_NAME
from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.lab.pages.replay.page import render_report
from radarstream.lab.pages.report import (
    LIMITED,
    WORDS,
    Tier,
    limits,
    model_card,
    model_facts,
    model_sentence,
    tier_of,
)
from radarstream.pipelines.job.replaying.record import RunRecord


def service(base_url: str) -> str:
    options = OpenAiOptions(base_url=base_url, model="m", api_key_variable="")
    return OpenAiGenerator(options).model_id


def other_weights(directory: Path) -> str:
    file = directory / "qwen.gguf"
    file.write_bytes(b"GGUF of somebody else")
    return LlamaCpp(model_path=file).model_id


@pytest.mark.models
def test_the_embedded_weights_are_told_and_limit_the_answers() -> None:
    models = {"generator": LlamaCpp().model_id}
    assert tier_of(models["generator"]) is Tier.EMBEDDED
    assert limits(models) == (LIMITED,)
    assert LIMITED in model_sentence(models) and models["generator"] in model_sentence(models)
    assert model_card(models) == {"id": models["generator"], "tier": "embedded", "limits": LIMITED}
    assert [fact for name, fact in model_facts(models) if name == "licence of weights"]


def test_every_other_backend_is_told_and_limits_nothing(tmp_path: Path) -> None:
    found = {
        other_weights(tmp_path): Tier.LOCAL, "transformers/Qwen@0a1b/greedy/r8": Tier.LOCAL,
        service("http://127.0.0.1:11434/v1"): Tier.LOCAL,
        service("http://localhost:8000/v1"): Tier.LOCAL,
        service("http://[::1]:8080/v1"): Tier.LOCAL,
        service("https://api.openai.com/v1"): Tier.API,
        service("http://127.0.0.1.example.org/v1"): Tier.API,
        ScriptedGenerator().model_id: Tier.SCRIPTED, "": Tier.UNKNOWN,
    }  # fmt: skip
    assert {model_id: tier_of(model_id) for model_id in found} == found
    for model_id, tier in found.items():
        models = {"generator": model_id}
        assert limits(models) == () and model_card(models)["limits"] is None
        assert ("kind of language model", WORDS[tier]) in model_facts(models)
        assert WORDS[tier] in model_sentence(models)
    assert model_sentence({}) == "Language model: not named (unknown)."


def test_a_report_says_where_the_embedded_model_limits_it() -> None:
    embedded = f"llama.cpp/{EMBEDDED_NAME}@{GEMMA.fingerprint}/greedy/slots=2/r8"
    for model_id, limited in ((embedded, True), ("scripted/3", False)):
        html = render_report([], {}, RunRecord({}, "abc", {"generator": model_id}))
        assert (LIMITED in html) is limited
        assert WORDS[tier_of(model_id)] in html
