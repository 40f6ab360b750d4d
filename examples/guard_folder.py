"""Answer a question from a folder of documents: guard_folder.py FOLDER QUESTION."""

import sys
from pathlib import Path

from radarstream import Guard


def main(folder: str, question: str) -> None:
    """Print the answer, the words that it rests on, and what was not trusted."""
    with Guard() as guard:
        answer = guard.answer(question, [Path(folder)])
    print(answer.text or "no answer", f"({answer.status.value})")
    for judged in answer.event.verdict.documents:
        side = "kept" if judged.kept else judged.reason.value
        page = f", page {judged.page}" if judged.page else ""
        words = f": {judged.excerpt.match.strip()}" if judged.excerpt else ""
        print(f"{judged.rank} {side}{page}{words}")
    for unread in answer.unread:
        print(f"{unread.rank} not read: {unread.name}: {unread.why}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
