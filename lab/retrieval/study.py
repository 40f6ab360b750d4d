"""The study of rerankers: what `radarstream evaluate retrieval` runs on the harness.

Condition by condition, the pools are searched, every reranker is given them, and every defence
answers from what each reranker keeps.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from radarstream.connectors.models.response_cache import ResponseCache
from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.registry import build_defense
from radarstream.lab.attacks.corpus import RememberingEmbedder
from radarstream.lab.attacks.protocol import BENIGN, Attack
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.whitebox.crafting import Checkpoint
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.retrieval.pools import Stage, crafted, snapshot_of, white_box_of
from radarstream.lab.retrieval.records import (
    FILES,
    GuardedRow,
    PoolRow,
    RerankingRow,
    RetrievalRecord,
    both,
    pools_of,
    sound,
)
from radarstream.lab.retrieval.rerankers import (
    Reranker,
    answered,
    reference_of,
    relevant_pairs,
    reranker_of,
    takes_reference,
    with_reference,
)
from radarstream.lab.study.costs import Ledger
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import Study
from radarstream.lab.study.plugin import Batch, Request, batched
from radarstream.lab.study.record import SHARED, digests
from radarstream.lab.study.rows import EVIDENCE_WORK, PassageRow
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

NO_PAIRS = "no document answers a question of the tuning split"
AT_ONCE = 4  # pools reranked in lockstep, and lost when a run is stopped
PREPARED = Batch("preparation", 0)  # ends work whose time says nothing about what is left

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
    "radarstream.lab.retrieval.rerankers",
    "radarstream.lab.retrieval.rerankers",
    "radarstream.pipelines.signals.fulfilment",
)

RetrievalStudy = Study[RetrievalRecord]


@dataclass(frozen=True, kw_only=True)
class RetrievalRequest(Request):
    """Which rerankers meet which conditions, and which defences stand behind them.

    `k` candidates are kept of a pool with `pool` clean passages. `split` says which questions are
    asked besides `half`.
    """

    conditions: tuple[str, ...]
    rerankers: tuple[Spec, ...]
    defences: tuple[str, ...] = ()
    pool: int = 50
    split: Split = Split.TEST


@dataclass
class RetrievalPlugin:
    """The plug-in: every reranker on every pool, every defence on what is kept.

    `tools` makes the models of white-box attackers, `kept` stores what they wrote.
    Raises ConfigurationError when there is no question to ask or no document to search.
    """

    request: RetrievalRequest
    settings: Settings
    models: Models
    tools: Callable[[], Tools] | None = None
    kept: ResponseCache | None = None
    ledgers: dict[frozenset[str], Ledger] = field(default_factory=dict)

    files = FILES

    def __post_init__(self) -> None:
        request = self.request
        self.questions = Questions.of(request.dataset, request.limit, request.half, request.split)
        if not self.questions.asked:
            raise ConfigurationError(
                "nothing to ask: all ask for a long answer, or are in the other half or split"
            )
        if not self.questions.corpus.entries:
            raise ConfigurationError(
                "the questions bring no documents, so that there are no clean passages: name a "
                "data set that has some as another --dataset"
            )
        self.asked = {snapshot.query.id: snapshot for snapshot in self.questions.asked}
        self.tuning = Questions.of(request.dataset, None, split=Split.TUNING).asked
        self.stage = Stage(self.questions, request.pool)

    def describe(self) -> RetrievalRecord:
        """The record of this run alone."""
        request = self.request
        common = request.common(self.models, self.settings)
        probed = {name: model.model_id for name, model in self.models.plugins.items()}
        common["models"] = {n: id_ for n, id_ in common["models"].items() if n not in probed}
        return RetrievalRecord(
            **common,
            **request.asking(self.questions.asked),
            pool=request.pool,
            texts=len(self.questions.corpus.entries),
            split=request.split,
            tuning=len(self.tuning),
            conditions=request.conditions,
            rerankers=request.rerankers,
            defences=request.defences,
            probed=probed,
        )

    def code(self, record: RetrievalRecord) -> Mapping[str, str | None]:
        """One digest per condition, one per reranker, one per defence behind it."""
        roots: dict[str, Callable[[], Iterable[str]]] = {}
        for condition in record.conditions:
            roots[pools_of(condition)] = partial(staging_modules, condition)
        for spec in record.rerankers:
            roots[spec.name] = partial(reranking_modules, spec)
            for before in record.defences:
                roots[both(before, spec.name)] = partial(reranking_modules, spec, before)
        return digests(roots)

    def plan(self, study: RetrievalStudy) -> Iterator[Batch]:
        """Count the pools, rerankings and answers that are left, then work on them condition by
        condition.
        """
        self.study = study
        self.pools: dict[Any, PoolRow] = study.store.of(PoolRow)
        self.passages: dict[Any, PassageRow] = study.store.of(PassageRow)
        self.rows: dict[Any, RerankingRow] = study.store.of(RerankingRow)
        self.answers: dict[Any, GuardedRow] = study.store.of(GuardedRow)
        embedder = RememberingEmbedder(study.models.embedder)
        self.asking = replace(study.models, embedder=embedder)
        self.built: dict[str, Reranker] = {}
        expected = study.progress.expected
        for condition in self.request.conditions:
            left = [id_ for id_ in self.asked if (condition, id_) not in self.pools]
            expected[EVIDENCE_WORK] += len(left)
            for spec in self.request.rerankers:
                expected[spec.name] += len(self.due(condition, spec, unknown=True))
                for before in self.request.defences:
                    owed = self.unanswered(condition, spec, before, unknown=True)
                    expected[both(before, spec.name)] += len(owed)
        return self.work()

    def work(self) -> Iterator[Batch]:
        """Pools, rerankings and answers of each condition. The corpus is embedded first, so that no
        question is timed with it.
        """
        if self.study.progress.total:
            self.study.progress.doing = "embedding the corpus"
            self.asking.embedder.embed([e.document.passage for e in self.questions.corpus.entries])
            yield PREPARED
        for condition in self.request.conditions:
            yield from self.search(condition)
            for spec in self.request.rerankers:
                yield from self.rerank(condition, spec)
            for before in self.request.defences:
                for spec in self.request.rerankers:
                    yield from self.answer(condition, spec, before)

    def search(self, condition: str) -> Iterator[Batch]:
        """The pools of a condition that are not there yet."""
        left = [s for id_, s in self.asked.items() if (condition, id_) not in self.pools]
        if not left:
            return
        attack = self.attack(condition)
        yield PREPARED
        self.study.progress.doing = f"{condition}: searching"
        for part in batched(left, self.settings.batch.snapshots):
            rows: list[PoolRow | PassageRow] = []
            for snapshot in part:
                pool, passages = self.stage.pool(condition, attack, snapshot, self.asking)
                rows += [pool, *(one for one in passages if one.id not in self.passages)]
            yield Batch(EVIDENCE_WORK, len(part), rows)

    def attack(self, condition: str) -> Attack | None:
        """The attack of a condition; texts of white-box ones are written now, for all questions.

        Raises ConfigurationError where nothing offers the weights of the retriever, ModelError.
        """
        box = white_box_of(condition)
        if box is None:
            return None if condition == BENIGN else attack_named(condition)
        if self.tools is None:
            raise ConfigurationError(f"{condition} needs the weights of the retriever")
        aims = [self.questions.aim(snapshot) for snapshot in self.questions.asked]

        def told(done: int, parts: int) -> None:
            self.study.progress.doing = f"{condition}: {done} of {parts} questions attacked"

        progress = Checkpoint(self.kept, told)
        return crafted(condition, box, aims, self.tools(), self.request.seed, progress)

    def rerank(self, condition: str, spec: Spec) -> Iterator[Batch]:
        """What a reranker makes of the pools that it has not seen."""
        due = self.due(condition, spec)
        if not due:
            return
        reranker = self.reranker(spec)
        self.study.progress.doing = f"{condition}: {spec.name}"
        yield PREPARED
        for part in batched(due, AT_ONCE):
            snapshots = [self.snapshot(condition, id_) for id_ in part]
            yield Batch(spec.name, len(part), reranker.rerank(condition, snapshots, self.asking))

    def answer(self, condition: str, spec: Spec, before: str) -> Iterator[Batch]:
        """What a defence answers from what a reranker keeps."""
        due = self.unanswered(condition, spec, before)
        self.study.progress.doing = f"{condition}: {before} behind {spec.name}"
        for part in batched(due, self.settings.batch.queries):
            kept = {id_: self.rows[spec.name, condition, id_, 0].kept for id_ in part}
            snapshots = [self.snapshot(condition, id_, ranks) for id_, ranks in kept.items()]
            rows = answered(
                spec.name, before, condition, snapshots, self.settings.reading, self.asking
            )
            yield Batch(both(before, spec.name), len(part), rows)

    def reranker(self, spec: Spec) -> Reranker:
        """The reranker, with thresholds from the tuning split if it takes some and has none."""
        if spec.name not in self.built:
            method = self.calibrated(spec)
            ledger = self.ledgers.setdefault(method.needs, Ledger())
            self.built[spec.name] = Reranker(spec.name, method, self.request.k, ledger)
        return self.built[spec.name]

    def calibrated(self, spec: Spec) -> RetrievalDefense:
        """The reranker, with a reference from the tuning split if it takes one and has none.

        Raises ModelError when the documents cannot be measured.
        """
        method = reranker_of(spec)
        if not takes_reference(method):
            return method
        thresholds = self.study.record.thresholds
        pairs = relevant_pairs(self.tuning, self.request.seed)
        if spec.name not in thresholds and pairs:
            self.study.progress.doing = f"{spec.name}: fitting its threshold"
            found = reference_of(method, pairs, self.asking)
            thresholds = thresholds | {spec.name: found}
            self.study.update(thresholds=thresholds)
            self.study.write_record()
        if spec.name not in thresholds:
            self.study.note([f"{spec.name} takes its threshold from each pool: {NO_PAIRS}"])
            return method
        return with_reference(method, thresholds[spec.name])

    def snapshot(
        self, condition: str, query_id: str, ranks: Sequence[int] | None = None
    ) -> SearchSnapshot:
        """A pool as search results, or those at some ranks of it."""
        pool = self.pools[condition, query_id]
        return snapshot_of(pool, self.passages, self.asked[query_id], ranks)

    def due(self, condition: str, spec: Spec, *, unknown: bool = False) -> list[str]:
        """Ids of the questions whose pool has no sound row; those without a pool if `unknown`."""
        return [
            id_
            for id_ in self.asked
            if self.attackable(condition, id_, unknown=unknown)
            and not sound(self.rows.get((spec.name, condition, id_, 0)))
        ]

    def unanswered(
        self, condition: str, spec: Spec, before: str, *, unknown: bool = False
    ) -> list[str]:
        """Ids of the questions that were reranked and are not answered."""
        return [
            id_
            for id_ in self.asked
            if self.attackable(condition, id_, unknown=unknown)
            and (unknown or sound(self.rows.get((spec.name, condition, id_, 0))))
            and not sound(self.answers.get((both(before, spec.name), condition, id_, 0)))
        ]

    def attackable(self, condition: str, query_id: str, *, unknown: bool) -> bool:
        """Whether there is a pool of a question, or if `unknown` there may be one."""
        pool = self.pools.get((condition, query_id))
        return unknown if pool is None else bool(pool.candidates)


def staging_modules(condition: str) -> list[str]:
    """The code behind the pools of a condition."""
    box = white_box_of(condition)
    crafting = () if box is None else (*CRAFTING, type(box).__module__)
    return [*STAGING, *SHARED, *crafting]


def reranking_modules(spec: Spec, before: str | None = None) -> list[str]:
    """The code behind the rows of a reranker, and of a defence that answers behind it."""
    own = [] if before is None else [type(build_defense(before)).__module__]
    return [*own, type(reranker_of(spec)).__module__, *APPLYING]
