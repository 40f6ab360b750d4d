"""What was found out about a wrong answer, on a terminal."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from radarstream.pipelines.cli.terminal import cell, stdout
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.schemas.reports import OriginEvent


def print_origin(event: OriginEvent) -> None:
    """Print what was found out and decided."""
    lines = {
        "question": event.question,
        "decision": f"{event.decision}: {event.detail}",
        "finding": event.finding.replace("_", " ") if event.finding else "no texts were looked for",
        "wrong answer": event.answer,
        "without the flagged texts": event.answer_without or "(no answer)",
    }
    for name, value in lines.items():
        if name != "without the flagged texts" or event.flagged:
            stdout.print(cell(f"{name}: {value}", limit=500), soft_wrap=True)
    if not event.texts:
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in ("", "rank", "score", "similar", "semantic", "influence", "address", "text begins"):
        table.add_column(name, overflow="fold")
    shown = [text for text in event.texts if text.flagged or text.search_rank]
    blamed = "cleared" if event.cleared else "blamed"
    for text in shown:
        numbers = (text.score, text.similarity, text.semantic, text.generation)
        table.add_row(
            cell(blamed if text.flagged else "", "red"),
            str(text.search_rank or "-"),
            *("" if number is None else f"{number:.2f}" for number in numbers),
            cell(text.url or text.title, "dim", limit=120),
            cell(text.excerpt, limit=80),
        )
    stdout.print(table)
    if len(shown) < len(event.texts):
        others = len(event.texts) - len(shown)
        told_others = f"and {counted_noun(others, 'text')} of the corpus that taught nothing"
        stdout.print(told_others, highlight=False)
