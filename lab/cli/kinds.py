"""The kinds of studies: the options of each, and how it is made of them and shown.

A class of options is a command of `radarstream evaluate`: its docstring is the help.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from typer import Option

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.registry import DEFENSES
from radarstream.lab.attacks.conditions import conditions_of
from radarstream.lab.attacks.service.masking import Proxy
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
from radarstream.lab.study.halves import Split
from radarstream.lab.study.kind import Kind, Request
from radarstream.pipelines.build import build_models, build_tokens, shared_engine
from radarstream.pipelines.cli.options import RerankerOptions, RuleOptions
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import ConfigurationError

NO_ANSWERS: Final = "none"
OWN: Final = "own"
Documents = Annotated[int, Option("-k", min=1, help="Documents per question.")]
Out = Annotated[Path, Option(help="Directory for results and answers of models.")]
Judge = Annotated[
    str, Option(help="Also score with a judge model: own, or TOML settings with a generator.")
]
AskedSplit = Annotated[
    Split,
    Option(
        metavar="<str>",
        help="Questions to ask: test, or tuning, a fifth, on which thresholds are fitted; all.",
    ),
]


class KindOptions(Protocol):
    """The options of a kind of study."""

    @property
    def out(self) -> Path:
        """The directory of its results."""

    @abstractmethod
    def over(self, settings: Settings) -> Settings:
        """The settings of the study. Raises ConfigurationError."""

    @abstractmethod
    def kind(self, request: Request) -> Kind:
        """The study. Raises ConfigurationError."""


class PlainOptions:
    """Options that change no settings."""

    def over(self, settings: Settings) -> Settings:
        """The settings as they are."""
        return settings


@dataclass(frozen=True)
class DefencesOptions(RerankerOptions):
    """Compare defences under attacks on a data set, all on the same evidence."""

    defenses: Annotated[
        str,
        Option(
            help="Defences: all, or e.g. radar,radar:pair_scale=0.3,vanilla; production is what "
            "the settings say."
        ),
    ] = "all"
    attacks: Annotated[
        str, Option(help="Attacks by name, each at every position; '' for none.")
    ] = "pia,poison"
    positions: Annotated[
        str, Option(help="Ranks that are attacked: 1,10, or 1+2 for several at once.")
    ] = "1,10"
    condition: Annotated[
        list[str] | None,
        Option(help="In place of attacks × positions, e.g. 'pia@1:late-3'; repeatable."),
    ] = None
    schedule: Annotated[
        str, Option(help="Steps that are attacked, e.g. late-3 or every-2; '' for all.")
    ] = ""
    adaptations: Annotated[str, Option(help="How defences without a memory meet a history.")] = (
        "none,cumulative,lightweight"
    )
    k: Documents = 10
    out: Out = Path("build/evaluate")
    reference: Annotated[
        str | None, Option(help="Compare the others with this one; default: radar.")
    ] = None
    reader: Annotated[
        str,
        Option(
            help="Who reads: the models of the settings, or 'labels', a perfect reader by the "
            "labels of the data; labels:misses=0.1,invents=0.05 errs."
        ),
    ] = ""
    judge: Judge = ""

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


@dataclass(frozen=True)
class RetrievalOptions(PlainOptions):
    """Compare rerankers on pools into which attackers planted texts: what they keep out, what they
    cost, and what is answered from the rest.
    """

    attacks: Annotated[
        str,
        Option(help="Attacks on a corpus: black-box, white-box, all, or e.g. poisonedrag,hotflip."),
    ] = "black-box"
    attack_steps: Annotated[
        int | None, Option(min=0, help="Steps of white-box attacks; default: of each attack.")
    ] = None
    attack_candidates: Annotated[
        int | None,
        Option(min=1, help="Texts that white-box attacks read a step; default: of each attack."),
    ] = None
    rerankers: Annotated[
        str, Option(help="Rerankers: all, or e.g. gmtp,prog_rank:gate_temperature=0.1.")
    ] = "all"
    answers: Annotated[str, Option(help="Defences that answer from what is kept, or none.")] = (
        "vanilla,radar"
    )
    pool: Annotated[int, Option(min=1, help="Clean passages in the pool of a question.")] = 50
    keep: Annotated[int, Option(min=1, help="Candidates that a reranker keeps of a pool.")] = 5
    split: AskedSplit = Split.TEST
    out: Out = Path("build/evaluate-retrieval")

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


@dataclass(frozen=True)
class AttributionOptions(PlainOptions):
    """Compare attributors on wrong answers that attacks on a corpus cause, and on false
    complaints.
    """

    attacks: Annotated[
        str,
        Option(
            help="Scenarios such as poisonedrag, injection-benign, hijack/noisy, benign-errors, "
            "or whole families: plain, adaptive, several, noisy, clean, all."
        ),
    ] = "plain"
    attributors: Annotated[
        str, Option(help="Attributors: all, or e.g. rag_origin,rag_origin:block=2,norm.")
    ] = "all"
    k: Documents = 5
    out: Out = Path("build/evaluate-attribution")

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


@dataclass(frozen=True)
class ServiceOptions(RuleOptions):
    """Attack a service of your own, in this process, under several policies: what attackers learn
    and plant, and what readers lose.

    Nothing is sent to any other service than the models that are configured.
    """

    attacks: Annotated[
        str, Option(help="Attacks: all, or e.g. mba,poisoning:several=5,farming:pace=slow.")
    ] = "all"
    policies: Annotated[
        str,
        Option(
            help="Policies: all, single, pairs, calibration, or a list, e.g."
            " none,adaptive,static:privacy+trustrag; static:privacy=gaussian names a mechanism."
        ),
    ] = "all"
    defense: Annotated[
        str, Option(help="Defence that answers from the documents that are left.")
    ] = "vanilla"
    proxy: Annotated[
        str,
        Option(
            help="Model that an attacker chooses words with: own, or TOML settings with another."
        ),
    ] = OWN
    judge: Judge = ""
    documents: Annotated[int, Option("-k", min=1, help="Documents that an answer rests on.")] = 5
    members: Annotated[int, Option(min=0, help="Documents of the corpus to probe for.")] = 30
    non_members: Annotated[
        int, Option(min=0, help="Documents to probe for that are taken out of the corpus.")
    ] = 20
    split: AskedSplit = Split.ALL
    out: Out = Path("build/evaluate-service")

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
