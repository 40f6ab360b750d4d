"""What `evaluate` is asked for: contenders, conditions, and the plug-in with both."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from radarstream.lab.attacks import conditions as attack_conditions
from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences import contenders as contending
from radarstream.lab.defences.defences import Defences
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.records import Contender, DefencesRequest
from radarstream.lab.defences.scorers import scorer_settings
from radarstream.lab.study.datasets import Dataset, History
from radarstream.pipelines.build import build_models, build_reranker_of, shared_engine
from radarstream.pipelines.settings import DefenseSettings, Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.schemas.errors import ConfigurationError


def plugin_of(
    request: DefencesRequest,
    settings: Settings,
    *,
    insisted: str = "all",
    reader: LabelReader | None = None,
) -> Defences:
    """The plug-in of a request with its models, or with a `reader` in their place.

    Contenders that the models cannot serve are left out, unless they are `insisted` on by name.
    Raises ConfigurationError where none is left.
    """
    if not request.histories:
        raise ConfigurationError(f"the data set has no question in the {request.half} half")
    engine = shared_engine(settings)
    models = build_models(settings, engine) if reader is None else reader.models
    if (reranker := build_reranker_of(settings)) is not None:
        check_needs(reranker, models)
    served, left_out = contending.servable(request.contenders, models, insisted=insisted)
    if not served:
        raise ConfigurationError("; ".join(["no defence to evaluate", *left_out]))
    found = (request.dataset.complaint, _without_documents(request.histories), *left_out)
    notes = (*request.notes, *filter(None, found))
    return Defences(
        replace(request, contenders=tuple(served), notes=notes), settings, engine, models
    )


def contenders_of(
    data: Dataset,
    settings: DefenseSettings,
    defenses: str,
    adaptations: Sequence[str],
    relations: Sequence[str] = (),
) -> tuple[Contender, ...]:
    """Everyone who competes, each once; `relations` are other scorers of relations."""
    for scorer in relations:
        scorer_settings(scorer)  # refuses unknown ones
    contenders = contending.parse_contenders(defenses, settings)
    contenders += contending.with_relations(contenders, relations)
    # Called for a data set without histories, too: it refuses unknown adaptations.
    spread = contending.spread_over_time(contenders, adaptations)
    return tuple(dict.fromkeys(contenders if data.static else spread))


def conditions_of(
    attacks: list[str], positions: list[str], conditions: list[str], schedule: str, k: int
) -> tuple[Condition, ...]:
    """The clean condition and the attacked ones, all on one surface and within the first k."""
    found = attack_conditions.product(attacks, positions, schedule)
    if conditions and schedule:
        raise ConfigurationError("--condition says when by itself, as in pia@1:late-3")
    if conditions:
        found = attack_conditions.one_surface(
            dict.fromkeys([Condition(), *map(attack_conditions.parse_condition, conditions)])
        )
    for condition in found:
        condition.check_depth(k)
    return found


def _without_documents(asked: Iterable[History]) -> str | None:
    """How many of the asked questions bring no documents, if any."""
    bare = sum(not any(s.documents for s in history) for history in asked)
    if not bare:
        return None
    return f"questions without any documents of their own: {bare} (a corpus is another --dataset)"
