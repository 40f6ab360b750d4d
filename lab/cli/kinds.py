"""The kinds of studies: the options of each, and how it is made of them and shown.

A class of options is a command of `radarstream evaluate`: its docstring is the help.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from typer import Option

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.registry import DEFENSES
from radarstream.lab.attacks.conditions import conditions_of
from radarstream.lab.attacks.service.masked_questions import Proxy
from radarstream.lab.attacks.service.registry import parse_streams
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.attribution.scenarios import parse_scenarios
from radarstream.lab.attribution.study import Attributions, parse_attributors
from radarstream.lab.defences.contenders import contenders_of
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.study import Defences
from radarstream.lab.insights import GRADIENTS
from radarstream.lab.models.building import build_open_encoder
from radarstream.lab.pages.attribution import ATTRIBUTION
from radarstream.lab.pages.defences import DEFENCES
from radarstream.lab.pages.retrieval import RETRIEVAL
from radarstream.lab.pages.service import SERVICE
from radarstream.lab.pages.studies import Display
from radarstream.lab.retrieval.pools import parse_conditions, white_box_of
from radarstream.lab.retrieval.rerankers import parse_rerankers, served
from radarstream.lab.retrieval.study import Retrieval
from radarstream.lab.service.policies import parse_policies
from radarstream.lab.service.study import Services
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.halves import Split
from radarstream.lab.study.kind import Kind, Request
from radarstream.pipelines.build import build_models, build_tokens, shared_engine
from radarstream.pipelines.cli.options import RerankerOptions, RuleOptions
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import ConfigurationError

NO_ANSWERS: Final = "none"
OWN: Final = "own"
OptionsT = TypeVar("OptionsT")


def worded(options: type[OptionsT]) -> type[OptionsT]:
    """The class with the help of its options, and what else they have, from `words.toml`."""
    for name, words in words_of("options")[options.__name__].items():
        told = {"help": words} if isinstance(words, str) else dict(words)
        option = Option(*told.pop("flags", ()), **told)
        options.__annotations__[name] = Annotated[options.__annotations__[name], option]
    return options


class KindOptions(ABC):
    """The options of a kind of study; `out` is the directory of its results."""

    out: Path

    def over(self, settings: Settings) -> Settings:
        """The settings of the study. Raises ConfigurationError."""
        return settings

    @abstractmethod
    def kind(self, request: Request) -> Kind:
        """The study. Raises ConfigurationError."""


@worded
@dataclass(frozen=True)
class DefencesOptions(RerankerOptions, KindOptions):
    """Compare defences under attacks on a data set, all on the same evidence."""

    defenses: str = "all"
    attacks: str = "pia,poison"
    positions: str = "1,10"
    condition: list[str] | None = None
    schedule: str = ""
    adaptations: str = "none,cumulative,lightweight"
    k: int = 10
    out: Path = Path("build/evaluate")
    reference: str | None = None
    reader: str = ""
    judge: str = ""

    def kind(self, request: Request) -> Defences:
        """The study."""
        defense, ways = request.settings.defense, words(self.adaptations)
        contenders = contenders_of(request.dataset, defense, self.defenses, ways)
        conditions = conditions_of(
            words(self.attacks), words(self.positions), self.condition or [], self.schedule, self.k
        )
        return Defences(
            request,
            conditions,
            contenders,
            k=self.k,
            reference=self.reference,
            insisted=self.defenses,
            reader=LabelReader.of(self.reader, request.seed) if self.reader else None,
        )


@worded
@dataclass(frozen=True)
class RetrievalOptions(KindOptions):
    """Compare rerankers on pools into which attackers planted texts: what they keep out, what they
    cost, and what is answered from the rest.
    """

    attacks: str = "black-box"
    attack_steps: int | None = None
    attack_candidates: int | None = None
    rerankers: str = "all"
    answers: str = "vanilla,radar"
    pool: int = 50
    keep: int = 5
    split: Split = Split.TEST
    out: Path = Path("build/evaluate-retrieval")

    def kind(self, request: Request) -> Retrieval:
        """The study."""
        settings = request.settings
        asked = {"steps": self.attack_steps, "candidates": self.attack_candidates}
        budget = {name: value for name, value in asked.items() if value is not None}
        conditions = parse_conditions(self.attacks, budget)
        specs, defences = parse_rerankers(self.rerankers), parse_defences(self.answers)
        engine = shared_engine(settings)
        kept, models, notes = served(
            specs, lambda needs: build_models(settings, engine, needs), insisted=self.rerankers
        )

        def tools() -> Tools:
            probing = build_models(settings, engine, {GRADIENTS})
            encoder = build_open_encoder(settings.embedder)
            return Tools(encoder, tokens=probing.tokens, gradients=probing.plugins.get(GRADIENTS))

        if any(map(white_box_of, conditions)):
            tools()  # says at once what is missing
        return Retrieval(
            request,
            models,
            conditions=conditions,
            rerankers=kept,
            defences=defences,
            k=self.keep,
            pool=self.pool,
            split=self.split,
            tools=tools,
            texts=ResponseCache(engine, max_entries=settings.cache.max_entries),
            notes=notes,
        )


@worded
@dataclass(frozen=True)
class AttributionOptions(KindOptions):
    """Compare attributors on wrong answers that attacks on a corpus cause, and false complaints."""

    attacks: str = "plain"
    attributors: str = "all"
    k: int = 5
    out: Path = Path("build/evaluate-attribution")

    def kind(self, request: Request) -> Attributions:
        """The study."""
        return Attributions(
            request,
            build_models(request.settings, shared_engine(request.settings)),
            scenarios=parse_scenarios(self.attacks),
            attributors=parse_attributors(self.attributors),
            k=self.k,
            insisted=self.attributors,
        )


@worded
@dataclass(frozen=True)
class ServiceOptions(RuleOptions, KindOptions):
    """Attack a service of your own, in this process, under several policies: what attackers learn
    and plant, and what readers lose.

    Nothing is sent to any other service than the models that are configured.
    """

    attacks: str = "all"
    policies: str = "all"
    defense: str = "vanilla"
    proxy: str = OWN
    judge: str = ""
    documents: int = 5
    members: int = 30
    non_members: int = 20
    split: Split = Split.ALL
    out: Path = Path("build/evaluate-service")

    def over(self, settings: Settings) -> Settings:
        """The settings with the defence and its rule."""
        named = settings.defense.named(self.defense)
        return super().over(settings.model_copy(update={"defense": named}))

    def kind(self, request: Request) -> Services:
        """The study."""
        engine = shared_engine(request.settings)
        return Services(
            request,
            build_models(request.settings, engine),
            engine,
            streams=parse_streams(self.attacks),
            policies=parse_policies(self.policies),
            k=self.documents,
            members=self.members,
            others=self.non_members,
            split=self.split,
            proxy=proxy_of(self.proxy, request.settings),
        )


KINDS: Final[dict[str, tuple[type[KindOptions], Display[Any]]]] = {
    "defences": (DefencesOptions, DEFENCES),
    "retrieval": (RetrievalOptions, RETRIEVAL),
    "attribution": (AttributionOptions, ATTRIBUTION),
    "service": (ServiceOptions, SERVICE),
}


def words(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_defences(text: str) -> Sequence[str]:
    """Read a list of defences, or `none`. Raises ConfigurationError for an unknown name."""
    names = [] if text.strip() == NO_ANSWERS else words(text)
    if unknown := [name for name in names if name not in DEFENSES]:
        raise ConfigurationError(
            f"no defence {unknown[0]!r}; there are {', '.join(DEFENSES)}, and none for no answers"
        )
    return list(dict.fromkeys(names))


def proxy_of(proxy: str, settings: Settings) -> Proxy | None:
    """The attacker's own model, None where it tells no ranks. They are kept by no cache: a study
    keeps the words that were chosen with them.
    """
    tokens = build_tokens(settings if proxy == OWN else load_settings(Path(proxy)))
    return tokens if isinstance(tokens, Proxy) else None
