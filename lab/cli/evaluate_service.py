"""`radarstream evaluate service`: what attackers get from a service under each policy."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.lab.attacks.service.masking import Proxy
from radarstream.lab.attacks.service.registry import parse_streams
from radarstream.lab.cli import studies
from radarstream.lab.pages.service import SERVICE
from radarstream.lab.service.policies import parse_policies
from radarstream.lab.service.scoring import judge_answers
from radarstream.lab.service.study import ServicePlugin, ServiceRequest
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import kept_in
from radarstream.pipelines.build import build_models, build_tokens, shared_engine
from radarstream.pipelines.cli.options import RuleOptions
from radarstream.pipelines.settings import Settings, load_settings

OWN = "own"


def evaluate_service(
    *,
    attacks: Annotated[
        str, Option(help="Attacks: all, or e.g. mba,poisoning:several=5,farming:pace=slow.")
    ] = "all",
    policies: Annotated[
        str,
        Option(
            help="Policies: all, single, pairs, calibration, or a list, e.g."
            " none,adaptive,static:privacy+trustrag; static:privacy=gaussian"
            " names a mechanism."
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
    split: Annotated[
        Split,
        Option(metavar="<str>", help="Questions to ask: the tuning split, the test split, or all."),
    ] = Split.ALL,
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
    study, report = run.perform(out, plugin, SERVICE, judge_answers, judging)
    run.show(study, report)
    studies.insist(study, (policy.name for policy in compared), "no reply without an error under")


def proxy_of(proxy: str, settings: Settings) -> Proxy | None:
    """The attacker's own model, None where it tells no ranks. They are kept by no cache: a study
    keeps the words that were chosen with them.
    """
    tokens = build_tokens(settings if proxy == OWN else load_settings(Path(proxy)))
    return tokens if isinstance(tokens, Proxy) else None
