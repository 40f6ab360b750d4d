"""The study of a service: what `radarstream evaluate service` runs on the harness.

First the attacker hides words of documents. Then every stream is played under every policy: a
service that knows nobody yet is asked its questions one after another.
"""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Engine

from radarstream.defenses.registry import RERANKERS, build_defense
from radarstream.lab.attacks.corpus import RememberingEmbedder
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.service.masking import Proxy
from radarstream.lab.attacks.service.protocol import Stream, World
from radarstream.lab.attacks.service.registry import service_attack
from radarstream.lab.service.playing import (
    Probed,
    Searcher,
    Setup,
    drawn,
    masked,
    with_planted,
    without,
)
from radarstream.lab.service.policies import Policy, policy_of
from radarstream.lab.service.records import (
    FILES,
    PROBING,
    AskRow,
    ProbeRow,
    ReplyRow,
    ServiceRecord,
    StreamRow,
    stream_author,
)
from radarstream.lab.study.halves import Split
from radarstream.lab.study.harness import Study
from radarstream.lab.study.plugin import Batch, Request
from radarstream.lab.study.record import SHARED, digests
from radarstream.lab.study.rows import PassageRow
from radarstream.pipelines import asking
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

NO_PROXY = (
    "no model tells the ranks of tokens, by which an attacker chooses words: services do not. "
    "Name a `--proxy` of kind `llama_cpp`, or leave out mba, jailbreak and farming"
)
ATTACKS = "radarstream.lab.attacks"
STAGING = (
    *(f"{ATTACKS}.{name}" for name in ("corpus", "protocol", "texts", "variations")),
    f"{ATTACKS}.service.protocol",
    "radarstream.lab.attacks.questions",
    "radarstream.lab.service.playing",
)
PLAYING = (*SHARED, "radarstream.lab.service.playing")

ServiceStudy = Study[ServiceRecord]


@dataclass(frozen=True, kw_only=True)
class ServiceRequest(Request):
    """Which policies meet which streams. `k` documents are wanted for an answer.

    `members` and `others` documents are probed for; fewer where there are not enough. `split` says
    which questions are asked besides `half`.
    """

    streams: tuple[str, ...]
    policies: tuple[Policy, ...]
    members: int = 30
    others: int = 20
    split: Split = Split.ALL


@dataclass
class ServicePlugin:
    """The plug-in: every policy in every stream.

    `proxy` is the model that the attacker chooses words with, `engine` the state database of the
    services. Raises ConfigurationError when there is nothing to ask or no document to search, or
    no proxy where one is needed.
    """

    request: ServiceRequest
    settings: Settings
    models: Models
    engine: Engine
    proxy: Proxy | None = None

    files = FILES

    def __post_init__(self) -> None:
        request = self.request
        whole = Questions.of(request.dataset, request.limit, request.half, request.split)
        if not whole.asked or not whole.corpus.entries:
            raise ConfigurationError(
                "nothing to ask or nothing to search: the questions ask for a long answer, are in "
                "the other half or split, or bring no documents"
            )
        self.attacks = {name: service_attack(name) for name in request.streams}
        self.masking = any(attack.needs_masks for attack in self.attacks.values())
        if self.masking and self.proxy is None:
            raise ConfigurationError(NO_PROXY)
        self.probed: list[Probed] = drawn(whole, request.members, request.others, request.seed)
        self.questions = without(whole, self.probed)
        self.asked = tuple(snapshot.query.id for snapshot in self.questions.asked)

    def describe(self) -> ServiceRecord:
        """The record of this run alone."""
        request = self.request
        policies = tuple(policy.name for policy in request.policies)
        return ServiceRecord(
            **request.common(self.models, self.settings),
            **request.asking(self.questions.asked),
            texts=len(self.questions.corpus.entries),
            split=request.split,
            members=sum(one.member for one in self.probed),
            others=sum(not one.member for one in self.probed),
            proxy="" if self.proxy is None else self.proxy.model_id,
            defense=self.settings.defense.name,
            withstand=self.settings.defense.withstand,
            streams=request.streams,
            policies=policies,
        )

    def code(self, record: ServiceRecord) -> Mapping[str, str | None]:
        """One digest for probes, one per stream, one per policy."""
        asked = (f"{asking.__name__}.{one.name}" for one in pkgutil.iter_modules(asking.__path__))
        own = type(build_defense(record.defense)).__module__
        answering = (own, *asked, *(method.__module__ for method in RERANKERS.values()), *PLAYING)

        def staging(stream: str) -> Iterable[str]:
            return (type(service_attack(stream)).__module__, *STAGING)

        def playing(policy: str) -> Iterable[str]:
            if policy_of(policy).name != policy:
                raise ConfigurationError(f"{policy} does not mean what it meant")
            return answering

        return digests(
            {PROBING: lambda: (f"{ATTACKS}.service.masking", *STAGING)}
            | {stream_author(stream): partial(staging, stream) for stream in record.streams}
            | {policy: partial(playing, policy) for policy in record.policies}
        )

    def plan(self, study: ServiceStudy) -> Iterator[Batch]:
        """Count the documents and questions that are left, then work on them."""
        self.study = study
        self.rows: dict[Any, ReplyRow] = study.store.of(ReplyRow)
        self.asks: dict[Any, AskRow] = study.store.of(AskRow)
        self.probes: dict[Any, ProbeRow] = study.store.of(ProbeRow)
        self.passages: dict[Any, PassageRow] = study.store.of(PassageRow)
        self.embedder = RememberingEmbedder(study.models.embedder)
        models = replace(study.models, embedder=self.embedder)
        self.setup = Setup(self.settings, models, self.engine, self.request.k)
        study.progress.expected[PROBING] += len(self.unmasked())
        return self.work()

    def unmasked(self) -> list[Probed]:
        """The documents whose words are still to be hidden."""
        return [one for one in self.probed if self.masking and one.id not in self.probes]

    def work(self) -> Iterator[Batch]:
        """Probes, then every policy in each stream."""
        for one in self.unmasked():
            self.study.progress.doing = "hiding words of documents"
            assert self.proxy is not None
            yield Batch(PROBING, 1, [ProbeRow(masked(one, self.proxy))])
        streams = {name: self.stream(name) for name in self.attacks}
        for name, stream in streams.items():
            asks = [AskRow(name, place, ask) for place, ask in enumerate(stream.asks)]
            missing: list[AskRow | StreamRow] = [row for row in asks if row.key not in self.asks]
            if name not in self.study.store.of(StreamRow):
                missing.append(row_of(name, stream))
            yield Batch(PROBING, 0, missing)
            for policy in self.request.policies:
                if self.is_due(policy, name, stream):
                    self.study.progress.expected[policy.name] += len(stream.asks)
        for name, stream in streams.items():
            yield from self.played(name, stream)

    def stream(self, name: str) -> Stream:
        """The stream of an attack, over the documents that are probed for."""
        known = [self.probes[one.id].document for one in self.probed if one.id in self.probes]
        documents = tuple(one for one in known if one.spans)
        return self.attacks[name].stream(World(self.questions, documents, self.request.seed))

    def is_due(self, policy: Policy, name: str, stream: Stream) -> bool:
        """Whether a question of a stream has no sound reply yet: then all are asked again, since
        what a service knows of users depends on all of them.
        """
        found = (self.rows.get((policy.name, name, ask.id)) for ask in stream.asks)
        return any(row is None or row.error is not None for row in found)

    def played(self, name: str, stream: Stream) -> Iterator[Batch]:
        """One stream under every policy. Rows are kept when the stream has ended."""
        due = [policy for policy in self.request.policies if self.is_due(policy, name, stream)]
        if not due:
            return
        variants = {0, *(ask.variant for ask in stream.asks)}
        corpus = self.questions.corpus
        searchers = {
            variant: Searcher(with_planted(corpus, stream.planted, variant), self.embedder)
            for variant in variants
        }
        for policy in due:
            self.study.progress.doing = f"{name}: {policy.name}"
            rows: list[ReplyRow] = []
            passages: dict[str, PassageRow] = {}
            service = self.setup.opened(policy, stream, searchers)
            for row, found in service.play(name, stream, self.asked):
                rows.append(row)
                passages |= {one.id: one for one in found if one.id not in self.passages}
                yield Batch(policy.name, 1)
            yield Batch(policy.name, 0, [*rows, *passages.values()])


def row_of(name: str, stream: Stream) -> StreamRow:
    """A stream beside its questions."""
    planted = dict.fromkeys(text.document.content_id for text in stream.planted)
    left_out = tuple(f"{what}: {why}" for what, why in stream.left_out.items())
    return StreamRow(name, tuple(planted), left_out)
