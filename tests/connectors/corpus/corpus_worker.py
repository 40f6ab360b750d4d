"""A process that adds numbered texts to a corpus and dies inside its second transaction.

Arguments: database URL, "die" or "live".
"""

import os
import signal
import sys
from typing import Any

from sqlalchemy import event

from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.schemas.snapshot import Document

BATCH = 40


def documents(batch: int) -> list[Document]:
    return [Document(1, f"text {batch}/{i}", url=f"https://a.example/{i}") for i in range(BATCH)]


def main(url: str, fate: str) -> None:
    engine = open_engine(url)
    corpus = Corpus(engine)
    corpus.add(documents(0), 1)
    corpus.embed(ScriptedEmbedder())

    def die(_c: Any, _u: Any, statement: str, *_: Any) -> None:
        if fate == "die" and statement.startswith("INSERT INTO corpus_texts"):
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "after_cursor_execute", die)
    corpus.add(documents(1), 2)
    corpus.embed(ScriptedEmbedder())


if __name__ == "__main__":
    main(*sys.argv[1:])
