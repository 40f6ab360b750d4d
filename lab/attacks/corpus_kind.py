"""What studies over a corpus share: its questions, its texts, and a retriever that remembers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from radarstream.lab.attacks.corpus import RememberingEmbedder
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.texts import WORDINGS_DIGEST
from radarstream.lab.study.halves import Split
from radarstream.lab.study.kind import Kind, Request, Rows
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

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
