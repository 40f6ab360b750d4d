"""What studies over a corpus share: its questions, its texts, and a retriever that remembers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from radarstream.lab.attacks.corpus import Corpus, RememberingEmbedder, corpus_of
from radarstream.lab.attacks.protocol import Aim, aim_of
from radarstream.lab.attacks.texts import WORDINGS_DIGEST
from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.halves import Half, Split
from radarstream.lab.study.kind import Kind, Request, Rows
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

NO_QUESTION: Final = (
    "nothing to ask: every question asks for a long answer, which is not scored, or is in the "
    "other half or split"
)
NO_CORPUS: Final = (
    "the questions bring no documents, so that nothing but planted texts can be searched: name a "
    "data set that has some as another --dataset"
)


@dataclass(frozen=True, slots=True)
class Questions:
    """A data set's questions as they were last observed, and the corpus of their documents. `asked`
    are those that events are made of, `everybody` those that attacks borrow from.
    """

    asked: tuple[SearchSnapshot, ...]
    everybody: tuple[SearchSnapshot, ...]
    corpus: Corpus

    @staticmethod
    def of(
        dataset: Dataset, limit: int | None = None, half: Half = Half.ALL, split: Split = Split.ALL
    ) -> "Questions":
        """Questions that ask for a long answer are left out, and their documents stay. A limit is
        for the corpus, too: it holds the documents of so many questions, those asked first, and
        others' in the place of those that bring none.
        """
        last = tuple(history[-1] for history in dataset.histories)
        short = tuple(snapshot for snapshot in last if not snapshot.query.long_form)
        texts = ((s, s.query.text) for s in short)
        asked = tuple(s for s, text in texts if half.holds(text) and split.holds(text))[:limit]
        holding = dict.fromkeys(s.query.id for s in (*asked, *last) if s.documents)
        searched = set(tuple(holding)[:limit])
        corpus = corpus_of(d for s in last if s.query.id in searched for d in s.documents)
        return Questions(asked, short, corpus)

    def aim(self, snapshot: SearchSnapshot) -> Aim:
        """What an attacker knows, with the next question to borrow from."""
        ids = [other.query.id for other in self.everybody]
        other = self.everybody[(ids.index(snapshot.query.id) + 1) % len(ids)]
        return aim_of(snapshot, elsewhere=aim_of(other) if other is not snapshot else None)


class CorpusKind(Kind):
    """A kind of study over the documents of all questions, `questions.corpus`. `asking` are the
    models that answer, with an embedder that reads every text once.
    """

    asking: Models

    def __init__(self, request: Request, models: Models, k: int, split: Split = Split.ALL) -> None:
        """Raises ConfigurationError where there is no question to ask."""
        self.request, self.models, self.k = request, models, k
        self.questions = Questions.of(request.dataset, request.limit, request.half, split)
        if not self.questions.asked:
            raise ConfigurationError(NO_QUESTION)
        self.snapshots = {snapshot.query.id: snapshot for snapshot in self.questions.asked}
        self.asked = tuple(self.snapshots)
        self.facts = {
            "texts of the corpus": len(self.questions.corpus.entries),
            "wordings of attacks": WORDINGS_DIGEST,
            "half of the questions": str(request.half),
            "questions": len(self.asked),
            "split of the questions": str(split),
        }

    def begin(self, study: "Study") -> None:
        """Let the embedder remember."""
        super().begin(study)
        embedder = RememberingEmbedder(study.models.embedder)
        self.asking = replace(study.models, embedder=embedder)

    def prepare(self) -> Iterator[tuple[int, Rows]]:
        """Embed the corpus, so that no question is timed with it."""
        self.study.progress.doing = "embedding the corpus"
        if passages := [entry.document.passage for entry in self.questions.corpus.entries]:
            self.asking.embedder.embed(passages)
        return iter(())
