"""The questions of a data set that a study of a corpus asks, and the corpus that is searched."""

from dataclasses import dataclass

from radarstream.lab.attacks.corpus import Corpus, corpus_of
from radarstream.lab.attacks.protocol import Aim, aim_of
from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.halves import Half, Split
from radarstream.schemas.snapshot import SearchSnapshot


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
