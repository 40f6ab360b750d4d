"""`radarstream evaluate retrieval`: who keeps planted texts from a reader."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.registry import DEFENSES
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.cli import studies
from radarstream.lab.insights import GRADIENTS
from radarstream.lab.models.building import build_open_encoder
from radarstream.lab.pages.retrieval import RETRIEVAL
from radarstream.lab.retrieval.conditions import parse_conditions, white_box_of
from radarstream.lab.retrieval.rerankers import parse_rerankers, served
from radarstream.lab.retrieval.study import RetrievalPlugin, RetrievalRequest
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import kept_in
from radarstream.pipelines.build import build_models, shared_engine
from radarstream.schemas.errors import ConfigurationError

NO_ANSWERS = "none"


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
    split: Annotated[
        Split,
        Option(
            metavar="<str>",
            help="Questions to ask: test, or tuning, a fifth, on which thresholds are fitted; all.",
        ),
    ] = Split.TEST,
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
    study, report = run.perform(out, plugin, RETRIEVAL)
    run.show(study, report)
    studies.insist(study, (spec.name for spec in kept), "no pool reranked without an error by")


def parse_defences(text: str) -> tuple[str, ...]:
    """Read a list of defences, or `none`. Raises ConfigurationError for an unknown name."""
    names = [] if text.strip() == NO_ANSWERS else studies.words(text)
    if unknown := [name for name in names if name not in DEFENSES]:
        raise ConfigurationError(
            f"no defence {unknown[0]!r}; there are {', '.join(DEFENSES)}, and none for no answers"
        )
    return tuple(dict.fromkeys(names))
