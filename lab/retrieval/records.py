"""What a directory of a study of rerankers holds: its record and the code of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from radarstream.defenses.registry import build_defense
from radarstream.lab.retrieval.conditions import white_box_of
from radarstream.lab.retrieval.rerankers import reranker_of
from radarstream.lab.retrieval.rows import both, pools_of
from radarstream.lab.study.halves import Split
from radarstream.lab.study.record import SHARED, WAYS_OUT, CorpusRecord
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying.answering_code import digest_of
from radarstream.pipelines.job.replaying.provenance import differing
from radarstream.schemas.errors import ConfigurationError

# What pools depend on, beside what the signals of a pipeline do.
STAGING = (
    "radarstream.lab.retrieval.pools",
    *(f"radarstream.lab.attacks.{name}" for name in ("corpus", "protocol", "texts", "variations")),
    "radarstream.lab.attacks.questions",
    "radarstream.lab.study.scoring",
)
CRAFTING = tuple(
    f"radarstream.lab.attacks.whitebox.{name}"
    for name in ("crafting", "encoder", "flipping", "objectives")
)
APPLYING = (
    *SHARED,
    "radarstream.lab.retrieval.applying",
    "radarstream.lab.retrieval.rerankers",
    "radarstream.pipelines.signals.fulfilment",
)


@dataclass(frozen=True, kw_only=True)
class RetrievalRecord(CorpusRecord):
    """Provenance of a study of rerankers; `k` is how many candidates are kept of a pool.

    `pool` is how many clean passages are in a pool, `tuning` how many questions thresholds are
    fitted on, `thresholds` those that rerankers were given. `probed` are the models that only
    rerankers ask.
    """

    KIND: ClassVar[str] = "retrieval"
    SAME: ClassVar[Mapping[str, str]] = {
        **CorpusRecord.SAME,
        "pool": "clean passages in a pool",
        "split": "split of the questions",
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ("conditions", "rerankers", "defences")

    pool: int
    split: Split
    tuning: int
    conditions: tuple[str, ...]
    rerankers: tuple[Spec, ...]
    defences: tuple[str, ...]
    probed: dict[str, str] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the rerankers."""
        return [spec.name for spec in self.rerankers]

    @property
    def asked_in_words(self) -> str:
        """Which questions were asked."""
        split = "all questions" if self.split is Split.ALL else f"{self.split} split"
        return f"{super().asked_in_words.rstrip('.')}; {split}."

    def continuing(self, earlier: Self) -> Self:
        """The record of both runs. Raises ConfigurationError also where a model that rerankers ask
        differs.
        """
        both = earlier.probed.keys() & self.probed.keys()
        before, now = ({n: found[n] for n in both} for found in (earlier.probed, self.probed))
        if found := differing(before, now):
            raise ConfigurationError(
                f"the results there are of another study: {'; '.join(found)}. {WAYS_OUT}"
            )
        probed = earlier.probed | self.probed
        return replace(super().continuing(earlier), probed=probed, thresholds=earlier.thresholds)


def code_of(
    conditions: Sequence[str], rerankers: Sequence[Spec], defences: Sequence[str]
) -> dict[str, str | None]:
    """Digests of the code that the pools of each condition depend on, the rows of each reranker,
    and the answers of each defence behind it; None for what can no longer be built.
    """
    found: dict[str, str | None] = {}
    for condition in conditions:
        try:
            box = white_box_of(condition)
        except ConfigurationError:
            found[pools_of(condition)] = None
            continue
        more = () if box is None else (*CRAFTING, type(box).__module__)
        found[pools_of(condition)] = digest_of((*STAGING, *SHARED, *more))
    for spec in rerankers:
        try:
            module = type(reranker_of(spec)).__module__
        except ConfigurationError:
            found[spec.name] = None
            continue
        found[spec.name] = digest_of((module, *APPLYING))
        for before in defences:
            own = type(build_defense(before)).__module__
            found[both(before, spec.name)] = digest_of((own, module, *APPLYING))
    return found
