"""Builds the pipeline, its models and connectors from settings.

Large libraries are imported on use; if one is missing, the error names its extra. The `shared_…`
functions keep one instance per process.
"""

from collections.abc import Callable, Collection, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, assert_never

from sqlalchemy import Engine, create_engine

from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.models import scripted
from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.connectors.models.wrapping import Wrapped
from radarstream.connectors.state_table.database.engine import insist_on_database, open_engine
from radarstream.connectors.state_table.database.groups import Offsets, enter
from radarstream.defenses.protocol import Attributor, Defense, RetrievalDefense, Signal
from radarstream.defenses.registry import DEFENSES, build_attributor, build_defense, build_reranker
from radarstream.pipelines import settings as s
from radarstream.pipelines.round.gathering import Blocked, Quarantined, Rule
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import (
    AsksGenerator,
    Embedder,
    Generator,
    Models,
    RelationScorer,
    TokenScorer,
)
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.codec import WIRE_SCHEMAS
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import load_plugin, naming_extra
from radarstream.schemas.prompt import AnswerPair, Task
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import now_ms

SQLITE = "sqlite:///"
SNAPSHOTS = WIRE_SCHEMAS[SearchSnapshot].topic


def build_defense_pipeline(settings: s.Settings, engine: Engine) -> DefensePipeline[Any]:
    """Build the defence, its rules and its models, every model behind the response cache."""
    defense, baseline = build_methods(settings)
    rules: list[Rule] = [Quarantined(engine)] if settings.attribution.enabled else []
    rules.append(Blocked(engine))
    return DefensePipeline(
        name=settings.defense.name,
        defense=defense,
        models=build_models(settings, engine),
        baseline=baseline,
        reading=settings.reading,
        reranker=build_reranker_of(settings),
        keep=settings.retrieval.keep,
        rules=tuple(rules),
    )


def build_methods(settings: s.Settings) -> tuple[Defense[Any], Defense[Any] | None]:
    """Create the defence and its baseline. Raises ConfigurationError for wrong names or options."""
    baseline, name = settings.defense.compare_with, settings.defense.name
    defense = build_defense(name, defense_options(settings.defense))
    return defense, build_defense(baseline) if baseline else None


def defense_options(settings: s.DefenseSettings) -> dict[str, Any]:
    """Return the options of the configured defence, with `withstand` if it has that option.

    Raises ConfigurationError if `withstand` is set for another defence.
    """
    options = dict(settings.options)
    if hasattr(DEFENSES.get(settings.name), "withstand"):
        options.setdefault("withstand", settings.withstand)
    elif "withstand" in settings.model_fields_set:
        raise ConfigurationError(
            f"defense.withstand is for the defence 'voices': {settings.name!r} counts no sites"
        )
    return options


def build_reranker_of(settings: s.Settings) -> RetrievalDefense | None:
    """Create the reranker, None without a name. Raises ConfigurationError."""
    retrieval = settings.retrieval
    if not retrieval.name:
        return None
    return build_reranker(retrieval.name, retrieval.options)


def check_settings(settings: s.Settings, *, attributing: bool = False) -> None:
    """Raise ConfigurationError for methods and models that do not exist or do not fit together.

    It loads no model and connects to nothing, for a fast check.
    """
    pipeline = build_defense_pipeline(settings, create_engine("sqlite://"))
    if attributing:
        check_needs(configured_attributor(settings), pipeline.models)


def configured_attributor(settings: s.Settings) -> Attributor:
    """Create the attributor of the settings. Raises ConfigurationError."""
    return build_attributor(settings.attribution.attributor, settings.attribution.chosen_options)


def build_models(settings: s.Settings, engine: Engine, needs: Set[str] | None = None) -> Models:
    """Create the models behind one response cache; weights load on first use.

    `needs`, by default those of the configured reranker, names models of plug-ins. Raises
    ConfigurationError if they are missing.
    """
    if needs is None:
        reranker = build_reranker_of(settings)
        needs = set() if reranker is None else reranker.needs
    cached = ResponseCache(engine, max_entries=settings.cache.max_entries)
    embedder = Cached(build_embedder(settings.embedder), cached)
    generator = Cached(build_generator(settings.generator), cached)
    relations = build_relations(settings.relations, lambda: generator, cached)
    tokens = build_tokens(settings)
    models = Models(
        generator, relations, embedder, None if tokens is None else Cached(tokens, cached)
    )
    if names := needs - set(Signal):
        models = load_plugin("lab", "retrieval_models")(models, settings, names, cached)
    return models


def build_generator(settings: s.GeneratorSettings) -> Generator:
    """Create the language model backend."""
    match settings:
        case s.LlamaCpp():
            with naming_extra():
                from radarstream.connectors.models.llama_cpp import LlamaCpp

                return LlamaCpp(**settings.model_dump(exclude={"kind"}))
        case s.OpenAiGenerator():
            return OpenAiGenerator(settings)
        case s.ScriptedGenerator():
            return scripted.ScriptedGenerator(log=scripted.NoLog())
    assert_never(settings)


def build_tokens(settings: s.Settings) -> TokenScorer | None:
    """Create the source of token probabilities; None without one."""
    match settings.tokens:
        case s.SameModel():
            return _tokens_of_generator(settings.generator)
        case s.OpenAiTokens():
            return OpenAiTokens(settings.tokens)
        case s.NoTokens():
            return None
    assert_never(settings.tokens)


def _tokens_of_generator(settings: s.GeneratorSettings) -> TokenScorer | None:
    """Create the source of token probabilities of the generator's model; None for a service."""
    match settings:
        case s.LlamaCpp():
            return GgufTokens(**settings.model_dump(exclude={"kind", "slots", "chat"}))
        case s.ScriptedGenerator():
            generator = scripted.ScriptedGenerator(log=scripted.NoLog())
            return ScriptedTokens(generator, log=scripted.NoLog())
        case s.OpenAiGenerator():
            return None
    assert_never(settings)


def probe_service(settings: s.Settings) -> bool:
    """Whether the generator's service answers; True for a model in this process.

    Raises ConfigurationError if the service refuses the key or does not know the model.
    """
    generator = build_generator(settings.generator)
    if not isinstance(generator, OpenAiGenerator):
        return True
    try:
        return generator.probe()
    finally:
        generator.close()


def build_relations(
    settings: s.RelationSettings,
    generator: Callable[[], Generator],
    cache: ResponseCache | None = None,
) -> RelationScorer:
    """Create the relation scorer behind a cache; a language model has its own, for its counts."""
    scorer: RelationScorer
    match settings:
        case s.AnswerAgreement():
            # Imported here and below, because reading its rules takes 0.1 s.
            from radarstream.connectors.models.answer_agreement import AnswerAgreement

            scorer = AnswerAgreement()
        case s.CrossEncoder():
            with naming_extra():
                from radarstream.connectors.models.cross_encoder_nli import CrossEncoderNli

                scorer = CrossEncoderNli(settings.model)
        case s.LanguageModel():
            from radarstream.connectors.models.answer_agreement import AnswerAgreement
            from radarstream.pipelines.signals.relation_judge import JudgedRelations

            return JudgedRelations(generator(), AnswerAgreement())
        case s.ScriptedRelations():
            scorer = scripted.ScriptedRelations(log=scripted.NoLog())
        case _:
            assert_never(settings)
    return scorer if cache is None else Cached(scorer, cache)


def build_embedder(settings: s.EmbedderSettings) -> Embedder:
    """Create the sentence embedder."""
    match settings:
        case s.SentenceEmbedder():
            with naming_extra():
                from radarstream.connectors.models.sentence_embedder import SentenceEmbedder

                return SentenceEmbedder(settings.model)
        case s.ScriptedEmbedder():
            return scripted.ScriptedEmbedder(log=scripted.NoLog())
    assert_never(settings)


def shared_pipeline(settings: s.Settings) -> DefensePipeline[Any]:
    """Return this process's pipeline for these settings."""
    return _pipeline(_Keyed(settings.model_dump_json(), settings))


def shared_engine(settings: s.Settings) -> Engine:
    """Return this process's database engine for these settings."""
    return _engine(settings.database)


def existing_engine(settings: s.Settings) -> Engine:
    """Return `shared_engine`; raise ConfigurationError instead of creating a new file."""
    insist_on_database(settings.database)
    return shared_engine(settings)


def committed_offsets(settings: s.Settings, group: str, topic: str) -> Offsets:
    """Return the offsets that a consumer group has committed for a topic. Raises BrokerError."""
    # Imported here, because most commands need no Kafka.
    from radarstream.connectors.kafka.topic_reader import partition_offsets

    offsets = partition_offsets(settings.kafka, topic=topic, group=group)
    return {(o.epoch, number): o.committed for number, o in offsets.items() if o.committed}


def enter_group(
    settings: s.Settings, group: str, *, topic: str = SNAPSHOTS, start_over: bool = False
) -> str:
    """Return the mark of a consumer group in the state database, see `groups.enter`.

    Raises ConfigurationError if the database does not have the group's committed offsets, unless
    with `start_over`; BrokerError.
    """
    committed = committed_offsets(settings, group, topic)
    engine = shared_engine(settings)
    return enter(engine, group, committed, start_over=start_over, now_ms=now_ms())


def shared_corpus(settings: s.Settings) -> Corpus:
    """Return this process's corpus for these settings."""
    return _corpus(shared_engine(settings), settings.corpus.model_dump_json())


@cache
def _corpus(engine: Engine, options_json: str) -> Corpus:
    return Corpus(engine, CorpusOptions.model_validate_json(options_json))


@dataclass(frozen=True)
class _Keyed:
    """Settings with their JSON as key, because equality of settings ignores which were set."""

    json: str
    settings: s.Settings = field(compare=False)


@cache
def _pipeline(keyed: _Keyed) -> DefensePipeline[Any]:
    return build_defense_pipeline(keyed.settings, shared_engine(keyed.settings))


@cache
def _engine(database: str) -> Engine:
    if database.startswith(SQLITE):
        with suppress(OSError):  # opening reports the error
            Path(database.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    return open_engine(database)


QUESTION: Final = "What is this?"
EVERY: Final = ("embedder", "relations", "generator", "plugins")


def warm_up(models: Models, asked: Collection[str] = EVERY) -> None:
    """Load models by a small request to each, without the response cache.

    `asked` are fields of `Models`. A plug-in's model loads by its method `warm_up`, if it has one.
    Raises ModelError if a model fails, ConfigurationError if weights or libraries are missing.
    """
    prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, ["This is a test."])
    for name in asked:
        model = bare(getattr(models, name))
        if isinstance(model, AsksGenerator):  # it has no weights of its own
            continue
        match name:
            case "embedder":
                model.embed([QUESTION])
            case "relations":
                model.probabilities([AnswerPair(QUESTION, "a test", "an exam")])
            case "generator":
                model.complete([prompt])
            case "plugins":
                for plugin in model.values():
                    getattr(bare(plugin), "warm_up", lambda: None)()


def bare(model: Any) -> Any:
    """Return a model without its wrappers."""
    while isinstance(model, Wrapped):
        model = model.wrapped
    return model
