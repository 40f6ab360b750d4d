"""The models, as `radarstream doctor` tries them: each is asked one thing.

They are asked without the response cache: a cached answer would say nothing about today, and a new
one would be a change. Where a model must write a file first, such as assembled or converted
weights, doctor says so and does not ask it.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache

from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.gguf_weights import is_assembled
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.defenses.radar import Radar
from radarstream.pipelines import build
from radarstream.pipelines.cli.doctor_checks import Check, attempt
from radarstream.pipelines.cli.doctor_rerankers import reranker_models
from radarstream.pipelines.settings import (
    AnswerAgreement,
    LanguageModel,
    LlamaCpp,
    NoTokens,
    OpenAiGenerator,
    Settings,
)
from radarstream.pipelines.signals.ports import Embedder
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.relation_judge import JudgedRelations
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.tokens import ContinuationQuery

QUESTION, PASSAGE = "What is the capital of Peru?", "Lima is the capital of Peru."
SEE = "see the section `{}` of the settings"
# Pairs that rules leave open, and the class of each: 0 entailment, 2 contradiction.
KNOWN = {
    ("Lima, on the Pacific coast", "Lima, by the ocean"): 0,
    ("Lima, in my view", "the city of Cusco"): 2,
    ("The city of Cusco", "Lima, of course"): 2,
}
BETTER_JUDGE = (
    "use a larger instruction-tuned model, or set relations.kind to answer_agreement; a model that "
    "thinks first needs generator.extra_tokens"
)
ASSEMBLES = "the first use assembles the weights in the user's cache"


def models(settings: Settings) -> Iterator[Check]:
    """Ask every model one thing."""
    reached = True
    embedding = cache(lambda: build.build_embedder(settings.embedder))  # relations may use it too
    if isinstance(settings.generator, OpenAiGenerator):
        check = attempt("service", lambda: _service(settings), "set `base_url` and `model`")
        reached = check.ok
        yield check
    if reached:  # else the same would be said again
        yield attempt("generator", lambda: _generator(settings), SEE.format("generator"))
    if reached or not isinstance(settings.relations, LanguageModel):
        yield attempt("relations", lambda: _relations(settings), SEE.format("relations"))
    yield _embedding(settings, embedding)
    if not isinstance(settings.tokens, NoTokens):
        remedy = f"{SEE.format('tokens')}; attribution needs them, most defences do not"
        prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, (PASSAGE,))
        yield attempt("token probabilities", lambda: token_probabilities(settings, prompt), remedy)
    yield from reranker_models(settings)


def _assembles(settings: Settings) -> bool:
    """Whether the weights must still be assembled, which writes a file."""
    model = settings.generator
    return isinstance(model, LlamaCpp) and model.model_path is None and not is_assembled()


def _generator(settings: Settings) -> str:
    model = build.build_generator(settings.generator)
    if _assembles(settings):
        return f"{model.model_id}: {ASSEMBLES}"
    prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, (PASSAGE,))
    text = model.complete([prompt])[0].text.strip()
    return f"{model.model_id}: {QUESTION} -> {text}"


def _relations(settings: Settings) -> str:
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
        for (premise, hypothesis), expected, row in zip(KNOWN, KNOWN.values(), rows, strict=True)
        if row.argmax() != expected
    ]
    if wrong:
        how = ", ".join(f"{count} {how}" for how, count in judge.judgements.items() if count)
        raise ModelError(
            f"{judge.model_id} misjudges {len(wrong)} of {len(KNOWN)} pairs ({how}), such as "
            f"{wrong[0]}"
        ).mended_by(BETTER_JUDGE)
    return f"{judge.model_id}: {len(KNOWN)} of {len(KNOWN)} known pairs of answers judged right"


def _embedding(settings: Settings, embedding: Callable[[], Embedder]) -> Check:
    """Ask the embedder; missing weights are no failure where nothing asks for embeddings."""
    check = attempt("embedder", lambda: _embedder(embedding()), SEE.format("embedder"))
    if check.ok or embeds(settings):
        return check
    return Check("embedder", True, f"not usable, and not needed here: {check.found}")


def embeds(settings: Settings) -> bool:
    """Whether relations or the defence of these settings ask for embeddings."""
    if isinstance(settings.relations, AnswerAgreement):
        return True
    try:
        defense, _ = build.build_methods(settings)
    except ConfigurationError:
        return True  # another check tells
    return not isinstance(defense, Radar) or defense.similarity_threshold > -1.0


def _embedder(model: Embedder) -> str:
    return f"{model.model_id}: {model.embed([PASSAGE]).shape[1]} dimensions"


def _service(settings: Settings) -> str:
    """Say what a remote model's service offers. Raises ModelError if it cannot be reached."""
    found = build.probe_service(settings)
    if found is None or not found.reachable:
        at = (
            f"{where.base_url} " if isinstance(where := settings.generator, OpenAiGenerator) else ""
        )
        remedy = "start the service, or set `base_url`"
        raise ModelError(f"{at}cannot be reached").mended_by(remedy)
    return str(found)


def token_probabilities(settings: Settings, prompt: Prompt) -> str:
    """Ask how probable a reply is, unless weights must be assembled or converted first."""
    scorer = build.build_tokens(settings)
    if scorer is None:
        return "none: the service may tell them, see the section `tokens` of the settings"
    if isinstance(scorer, GgufTokens):
        if _assembles(settings):
            return f"{scorer.model_id}: {ASSEMBLES}"
        if not scorer.is_converted():
            return f"{scorer.model_id}: the first use converts the weights, for some seconds"
    try:
        (row,) = scorer.log_probs([ContinuationQuery((prompt,), "Lima")])[0]
    finally:
        if isinstance(scorer, OpenAiTokens):
            scorer.close()
    return f"{scorer.model_id}: Lima has probability {math.exp(row.sum()):.2f}"
