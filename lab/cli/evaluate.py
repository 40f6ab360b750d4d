"""`radarstream evaluate [KIND]`: studies, of defences unless another kind is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer import Option

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.registry import DEFENSES
from radarstream.lab.attacks.conditions import conditions_of
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.service.masking import Proxy
from radarstream.lab.attacks.service.registry import parse_streams
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.attribution.scenarios import parse_scenarios
from radarstream.lab.attribution.study import (
    AttributionPlugin,
    AttributionRequest,
    parse_attributors,
)
from radarstream.lab.attribution.study import served as served_attributors
from radarstream.lab.cli import studies
from radarstream.lab.cli.studies import words
from radarstream.lab.defences.contenders import contenders_of
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.records import DefencesRequest
from radarstream.lab.defences.study import plugin_of
from radarstream.lab.insights import GRADIENTS
from radarstream.lab.models.building import build_open_encoder
from radarstream.lab.pages.attribution import ATTRIBUTION
from radarstream.lab.pages.defences import DEFENCES
from radarstream.lab.pages.retrieval import RETRIEVAL
from radarstream.lab.pages.service import SERVICE
from radarstream.lab.retrieval.pools import parse_conditions, white_box_of
from radarstream.lab.retrieval.rerankers import parse_rerankers, served
from radarstream.lab.retrieval.study import RetrievalPlugin, RetrievalRequest
from radarstream.lab.service.policies import parse_policies
from radarstream.lab.service.scoring import judge_answers
from radarstream.lab.service.study import ServicePlugin, ServiceRequest
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import kept_in
from radarstream.pipelines.build import build_models, build_tokens, shared_engine
from radarstream.pipelines.cli.commands import Commands, with_options
from radarstream.pipelines.cli.options import RerankerOptions, RuleOptions
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import ConfigurationError

NO_ANSWERS: Final = "none"
OWN: Final = "own"
AskedSplit = Annotated[
    Split,
    Option(
        metavar="<str>",
        help="Questions to ask: test, or tuning, a fifth, on which thresholds are fitted; all.",
    ),
]


def evaluate_defences(
    *,
    defenses: Annotated[
        str,
        Option(
            help="Defences: all, or e.g. radar,radar:pair_scale=0.3,vanilla; production is what "
            "the settings say."
        ),
    ] = "all",
    attacks: Annotated[
        str, Option(help="Attacks by name, each at every position; '' for none.")
    ] = "pia,poison",
    positions: Annotated[
        str, Option(help="Ranks that are attacked: 1,10, or 1+2 for several at once.")
    ] = "1,10",
    condition: Annotated[
        list[str] | None,
        Option(help="In place of attacks × positions, e.g. 'pia@1:late-3'; repeatable."),
    ] = None,
    schedule: Annotated[
        str, Option(help="Steps that are attacked, e.g. late-3 or every-2; '' for all.")
    ] = "",
    adaptations: Annotated[
        str, Option(help="How defences without a memory meet a history.")
    ] = "none,cumulative,lightweight",
    k: studies.Documents = 10,
    out: studies.Out = Path("build/evaluate"),
    reference: Annotated[
        str | None, Option(help="Compare the others with this one; default: radar.")
    ] = None,
    reader: Annotated[
        str,
        Option(
            help="Who reads: the models of the settings, or 'labels', a perfect reader by the "
            "labels of the data; labels:misses=0.1,invents=0.05 errs."
        ),
    ] = "",
    reranking: RerankerOptions,
    run: studies.StudyOptions,
    judge: studies.Judge = "",
) -> None:
    """Compare defences under attacks on a data set, all on the same evidence.

    OUT receives report.html, tables.md, results.json, rows.jsonl (one answer a line),
    evidence.jsonl (what every contender saw), study.json (provenance) and state.sqlite
    (answers of the models). The same command continues where it was interrupted; more defences or
    conditions may be added later.
    """
    settings = (replace(run, dry_run=True) if reader else run).settings()
    settings = kept_in(out, reranking.over(settings))
    data = run.data(settings)
    contenders = contenders_of(data, settings.defense, defenses, words(adaptations))
    conditions = conditions_of(words(attacks), words(positions), condition or [], schedule, k)
    request = DefencesRequest(
        **run.asked(data),
        conditions=conditions,
        contenders=contenders,
        reference=reference,
        k=k,
        surface=conditions[-1].surface.value,
    )
    by_labels = LabelReader.of(reader, run.seed) if reader else None
    plugin = plugin_of(request, settings, insisted=defenses, reader=by_labels)
    judging = studies.judge_model(judge, plugin.models, plugin.engine)
    names = (contender.name for contender in plugin.request.contenders)
    run.perform(out, plugin, DEFENCES, names, plugin.judged, judging)


def evaluate_retrieval(
    *,
    attacks: Annotated[
        str,
        Option(help="Attacks on a corpus: black-box, white-box, all, or e.g. poisonedrag,hotflip."),
    ] = "black-box",
    attack_steps: Annotated[
        int | None, Option(min=0, help="Steps of white-box attacks; default: of each attack.")
    ] = None,
    attack_candidates: Annotated[
        int | None,
        Option(min=1, help="Texts that white-box attacks read a step; default: of each attack."),
    ] = None,
    rerankers: Annotated[
        str, Option(help="Rerankers: all, or e.g. gmtp,prog_rank:gate_temperature=0.1.")
    ] = "all",
    answers: Annotated[
        str, Option(help="Defences that answer from what is kept, or none.")
    ] = "vanilla,radar",
    pool: Annotated[int, Option(min=1, help="Clean passages in the pool of a question.")] = 50,
    keep: Annotated[int, Option(min=1, help="Candidates that a reranker keeps of a pool.")] = 5,
    split: AskedSplit = Split.TEST,
    out: studies.Out = Path("build/evaluate-retrieval"),
    run: studies.StudyOptions,
) -> None:
    """Compare rerankers on pools into which attackers planted texts: what they keep out, what they
    cost, and what is answered from the rest.

    OUT receives report.html, tables.md, results.json, pools.jsonl and passages.jsonl (the
    candidates), rows.jsonl (one reranked pool a line), answers.jsonl, study.json (provenance) and
    state.sqlite (answers of the models). The same command continues where it was interrupted; more
    rerankers, attacks or defences may be added later.
    """
    settings = kept_in(out, run.settings())
    data = run.data(settings)
    asked = {"steps": attack_steps, "candidates": attack_candidates}
    budget = {name: value for name, value in asked.items() if value is not None}
    conditions, specs = parse_conditions(attacks, budget), parse_rerankers(rerankers)
    defences = parse_defences(answers)
    engine = shared_engine(settings)
    kept, models, notes = served(
        specs, lambda needs: build_models(settings, engine, needs), insisted=rerankers
    )
    request = RetrievalRequest(
        **run.asked(data),
        conditions=conditions,
        rerankers=kept,
        defences=defences,
        pool=pool,
        k=keep,
        split=split,
        notes=notes,
    )

    def tools() -> Tools:
        probing = build_models(settings, engine, {GRADIENTS})
        encoder = build_open_encoder(settings.embedder)
        return Tools(encoder, tokens=probing.tokens, gradients=probing.plugins.get(GRADIENTS))

    if any(map(white_box_of, conditions)):
        tools()  # tells at once what is missing
    texts = ResponseCache(engine, max_entries=settings.cache.max_entries)
    plugin = RetrievalPlugin(request, settings, models, tools, texts)
    run.perform(out, plugin, RETRIEVAL, (spec.name for spec in kept))


def parse_defences(text: str) -> tuple[str, ...]:
    """Read a list of defences, or `none`. Raises ConfigurationError for an unknown name."""
    names = [] if text.strip() == NO_ANSWERS else words(text)
    if unknown := [name for name in names if name not in DEFENSES]:
        raise ConfigurationError(
            f"no defence {unknown[0]!r}; there are {', '.join(DEFENSES)}, and none for no answers"
        )
    return tuple(dict.fromkeys(names))


def evaluate_attribution(
    *,
    attacks: Annotated[
        str,
        Option(
            help="Scenarios such as poisonedrag, injection-benign, hijack/noisy, benign-errors, "
            "or whole families: plain, adaptive, several, noisy, clean, all."
        ),
    ] = "plain",
    attributors: Annotated[
        str, Option(help="Attributors: all, or e.g. rag_origin,rag_origin:block=2,norm.")
    ] = "all",
    k: studies.Documents = 5,
    out: studies.Out = Path("build/evaluate-attribution"),
    run: studies.StudyOptions,
) -> None:
    """Compare attributors on wrong answers that attacks on a corpus cause, and on false complaints.

    OUT receives report.html, tables.md, results.json, events.jsonl (one question under one
    scenario a line), rows.jsonl (one attribution a line), study.json (provenance) and state.sqlite
    (answers of the models). The same command continues where it was interrupted; more attributors
    or scenarios may be added later.
    """
    settings = kept_in(out, run.settings())
    data = run.data(settings)
    scenarios, specs = parse_scenarios(attacks), parse_attributors(attributors)
    models = build_models(settings, shared_engine(settings))
    benign = len(Questions.of(data, run.limit, run.half).corpus.entries)
    kept, notes = served_attributors(specs, models, benign, insisted=attributors)
    request = AttributionRequest(
        **run.asked(data), scenarios=scenarios, attributors=kept, k=k, notes=notes
    )
    plugin = AttributionPlugin(request, settings, models)
    run.perform(out, plugin, ATTRIBUTION, (spec.name for spec in kept))


def evaluate_service(
    *,
    attacks: Annotated[
        str, Option(help="Attacks: all, or e.g. mba,poisoning:several=5,farming:pace=slow.")
    ] = "all",
    policies: Annotated[
        str,
        Option(
            help="Policies: all, single, pairs, calibration, or a list, e.g."
            " none,adaptive,static:privacy+trustrag; static:privacy=gaussian names a mechanism."
        ),
    ] = "all",
    defense: Annotated[
        str, Option(help="Defence that answers from the documents that are left.")
    ] = "vanilla",
    proxy: Annotated[
        str,
        Option(
            help="Model that an attacker chooses words with: own, or TOML settings with another."
        ),
    ] = OWN,
    judge: studies.Judge = "",
    documents: Annotated[int, Option("-k", min=1, help="Documents that an answer rests on.")] = 5,
    members: Annotated[int, Option(min=0, help="Documents of the corpus to probe for.")] = 30,
    non_members: Annotated[
        int, Option(min=0, help="Documents to probe for that are taken out of the corpus.")
    ] = 20,
    split: AskedSplit = Split.ALL,
    out: studies.Out = Path("build/evaluate-service"),
    rule: RuleOptions,
    run: studies.StudyOptions,
) -> None:
    """Attack a service of your own, in this process, under several policies: what attackers learn
    and plant, and what readers lose.

    Nothing is sent to any other service than the models that are configured. OUT receives
    report.html, tables.md, results.json, rows.jsonl (one reply a line), questions.jsonl,
    streams.jsonl, probes.jsonl, passages.jsonl, study.json (provenance) and state.sqlite (answers
    of the models). The same command continues where it was interrupted; more attacks or policies
    may be added later.
    """
    settings = kept_in(out, run.settings())
    settings = rule.over(settings.model_copy(update={"defense": settings.defense.named(defense)}))
    data = run.data(settings)
    streams, compared = parse_streams(attacks), parse_policies(policies)
    engine = shared_engine(settings)
    models = build_models(settings, engine)
    request = ServiceRequest(
        **run.asked(data),
        streams=streams,
        policies=compared,
        k=documents,
        members=members,
        others=non_members,
        split=split,
    )
    judging = studies.judge_model(judge, models, engine)
    plugin = ServicePlugin(request, settings, models, engine, proxy_of(proxy, settings))
    names = (policy.name for policy in compared)
    run.perform(out, plugin, SERVICE, names, judge_answers, judging)


def proxy_of(proxy: str, settings: Settings) -> Proxy | None:
    """The attacker's own model, None where it tells no ranks. They are kept by no cache: a study
    keeps the words that were chosen with them.
    """
    tokens = build_tokens(settings if proxy == OWN else load_settings(Path(proxy)))
    return tokens if isinstance(tokens, Proxy) else None


KINDS: Final[dict[str, Callable[..., None]]] = {
    "defences": evaluate_defences,
    "retrieval": evaluate_retrieval,
    "attribution": evaluate_attribution,
    "service": evaluate_service,
}


class Group(Commands):
    """The kinds of studies, the first of them where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the kind."""
        named = args and args[0] in (*KINDS, "--help")
        return super().parse_args(ctx, args if named else [next(iter(KINDS)), *args])


app = typer.Typer(help="Compare defences (or retrieval, attribution, service) under attacks.")
for name, kind in KINDS.items():
    app.command(name)(with_options(kind))
