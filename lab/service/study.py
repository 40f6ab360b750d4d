"""The study of a service: every stream of questions is played under every policy, to a service that
knows nobody yet. First the attacker hides words of documents.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Engine

from radarstream.lab.attacks.corpus import Corpus, corpus_of
from radarstream.lab.attacks.corpus_kind import NO_CORPUS, CorpusKind
from radarstream.lab.attacks.service.masked_questions import Proxy
from radarstream.lab.attacks.service.protocol import Stream, World
from radarstream.lab.attacks.service.registry import service_attack
from radarstream.lab.service.playing import Probed, Setup, drawn, masked, without
from radarstream.lab.service.policies import REFERENCE, Policy
from radarstream.lab.service.records import FILES, AskRow, ProbeRow, ReplyRow, StreamRow
from radarstream.lab.study.halves import Split
from radarstream.lab.study.judging import JudgedAnswer
from radarstream.lab.study.kind import Keys, Request, Rows
from radarstream.lab.study.rows import EVIDENCE_WORK, PassageRow
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

NO_PROXY = (
    "no model tells the ranks of tokens, by which an attacker chooses words: services do not. "
    "Name a `--proxy` of kind `llama_cpp`, or leave out mba, jailbreak and farming"
)


class Services(CorpusKind):
    """Every policy in every stream; `k` documents are wanted for an answer.

    `members` and `others` documents are probed for; fewer where there are not enough. `split` says
    which questions are asked besides the half. `proxy` is the model that the attacker chooses words
    with, `engine` the state database of the services. Raises ConfigurationError when there is
    nothing to ask or no document to search, or no proxy where one is needed.
    """

    name: ClassVar[str] = "service"
    files: ClassVar[Mapping[type[Any], str]] = FILES
    gathers: ClassVar[str] = "questions"

    def __init__(  # noqa: PLR0913 what a study varies
        self,
        request: Request,
        models: Models,
        engine: Engine,
        *,
        streams: tuple[str, ...],
        policies: Sequence[Policy],
        k: int = 5,
        members: int = 30,
        others: int = 20,
        split: Split = Split.ALL,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(request, models, k, split)
        if not self.questions.corpus.entries:
            raise ConfigurationError(NO_CORPUS)
        self.engine, self.proxy = engine, proxy
        self.conditions, self.reference = streams, REFERENCE
        self.policies = {policy.name: policy for policy in policies}
        self.methods = tuple(Spec(name, name) for name in self.policies)
        self.attacks = {name: service_attack(name) for name in streams}
        self.masking = any(attack.needs_masks for attack in self.attacks.values())
        if self.masking and proxy is None:
            raise ConfigurationError(NO_PROXY)
        self.probed: list[Probed] = drawn(self.questions, members, others, request.seed)
        self.questions = without(self.questions, self.probed)
        defense = request.settings.defense
        self.facts |= {
            "texts of the corpus": len(self.questions.corpus.entries),
            "members that are probed for": sum(one.member for one in self.probed),
            "documents that the corpus lacks": sum(not one.member for one in self.probed),
            "proxy of the attacker": "" if proxy is None else proxy.model_id,
            "defence": defense.name,
            "lying sites that an answer withstands": defense.withstand,
        }

    def begin(self, study: "Study") -> None:
        """Take up the rows; the documents whose words are still to be hidden are work."""
        super().begin(study)
        self.asks: dict[Any, AskRow] = study.store.of(AskRow)
        self.probes: dict[Any, ProbeRow] = study.store.of(ProbeRow)
        self.passages: dict[Any, PassageRow] = study.store.of(PassageRow)
        self.setup = Setup(self.request.settings, self.asking, self.engine, self.k)
        self.streams: dict[str, Stream] = {}
        study.progress.expected[EVIDENCE_WORK] += len(self.unmasked())

    def unmasked(self) -> list[Probed]:
        """The documents whose words are still to be hidden."""
        return [one for one in self.probed if self.masking and one.id not in self.probes]

    def prepare(self) -> Iterator[tuple[int, Rows]]:
        """Hide words of documents."""
        for one in self.unmasked():
            self.study.progress.doing = "hiding words of documents"
            assert self.proxy is not None
            yield 1, [ProbeRow(masked(one, self.proxy))]

    def stream(self, condition: str) -> Stream:
        """The stream of an attack, over the documents that are probed for."""
        if condition not in self.streams:
            known = [self.probes[one.id].document for one in self.probed if one.id in self.probes]
            documents = tuple(one for one in known if one.spans)
            world = World(self.questions, documents, self.request.seed)
            self.streams[condition] = self.attacks[condition].stream(world)
        return self.streams[condition]

    def missing(self, condition: str) -> list[str]:
        """The stream itself, until all that belongs to it is written down."""
        if condition not in self.study.store.of(StreamRow) or self.unmasked():
            return [condition]
        asks = self.stream(condition).asks
        return [] if all((condition, ask.id) in self.asks for ask in asks) else [condition]

    def gather(self, condition: str, items: Sequence[str]) -> Rows:  # noqa: ARG002 the stream
        """The questions of a stream, and what is planted."""
        stream = self.stream(condition)
        asks = [AskRow(condition, place, ask) for place, ask in enumerate(stream.asks)]
        planted = dict.fromkeys(text.document.content_id for text in stream.planted)
        left_out = tuple(f"{what}: {why}" for what, why in stream.left_out.items())
        row = StreamRow(condition, tuple(planted), left_out)
        return [row, *(one for one in asks if one.key not in self.asks)]

    def owed(self, method: Spec, condition: str) -> Keys:
        """A reply to every question of a stream. They are asked again together, since what a
        service knows of users depends on all of them.
        """
        if self.unmasked():
            return {}
        return {condition: [(method.name, condition, a.id) for a in self.stream(condition).asks]}

    def answer(
        self,
        method: Spec,
        condition: str,
        items: Sequence[str],  # noqa: ARG002 the stream
    ) -> Iterator[tuple[int, Rows]]:
        """The replies of a service under a policy; they are kept when the stream has ended."""
        stream, corpus = self.stream(condition), self.questions.corpus
        corpora = {
            variant: Corpus(
                (
                    *corpus.entries,
                    *corpus_of(
                        text.document for text in stream.planted if text.variant == variant
                    ).entries,
                )
            )
            for variant in {0, *(ask.variant for ask in stream.asks)}
        }
        rows: list[ReplyRow] = []
        passages: dict[str, PassageRow] = {}
        service = self.setup.opened(self.policies[method.name], stream, corpora)
        for row, found in service.play(condition, stream, self.asked):
            rows.append(row)
            passages |= {one.id: one for one in found if one.id not in self.passages}
            yield 1, []
        yield 0, [*rows, *passages.values()]

    def judged(self) -> tuple[Iterable[JudgedAnswer], Mapping[str, str], Iterable[str]]:
        """Every reply."""
        answers = [
            JudgedAnswer(
                (*row.key, 0), self.asks[row.asked].ask.labels, None if row.abstained else row.text
            )
            for row in self.study.store.of(ReplyRow).values()
            if row.asked in self.asks and row.error is None
        ]
        return answers, {row.ask.id: row.ask.text for row in self.asks.values()}, ()
