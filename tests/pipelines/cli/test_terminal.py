"""What commands print of what others wrote; a line of `radarstream tail` warns of thin answers."""

import json
from dataclasses import replace
from threading import Event

import pytest
import regex

from radarstream.lab.study.table import escaped
from radarstream.pipelines.cli import progress, terminal
from radarstream.pipelines.cli.tail import _answer_line
from radarstream.pipelines.job.telemetry import logs
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.retrieval import JudgedCandidate, Reranking
from radarstream.schemas.shown import escaped_json, one_line
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, DocumentVerdict, MemoryDecision, Reason
from tests.wire_samples import ANSWER, OBSERVED_AT

IGNORABLE = [c for c in map(chr, range(0x110000)) if regex.match(r"\p{DI}", c)]


def test_nothing_hidden_is_printed() -> None:
    """Unicode's ignorable characters too, though Python takes many of them for printable."""
    assert sum(character.isprintable() for character in IGNORABLE) > 250
    hidden = [*IGNORABLE, *map(chr, range(32)), "\x7f", "\x9b", "\u2028", "\ue000", "\ud800"]
    assert [c for c in hidden if c in one_line(f"a{c}b")] == []
    assert [c for c in hidden if c in next(logs.plain(f"a{c}b"))] == []
    assert [c for c in hidden if c in escaped(f"a{c}b")] == []
    assert one_line("".join(IGNORABLE) + "ab\r\n\u3164 c") == "ab c"
    assert one_line("Zürich, 東京, مرحبا, ☕") == "Zürich, 東京, مرحبا, ☕"


def test_json_with_anything_hidden_stays_the_same_value() -> None:
    value = ["".join(IGNORABLE), "\x9b", "Zürich"]
    text = escaped_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not set(IGNORABLE) & set(text)


def test_json_on_a_terminal_is_inert_and_still_the_same_value(capsys, monkeypatch) -> None:
    monkeypatch.setattr(terminal, "stdout", terminal.Console(width=20))
    hidden = "a\u202eb\u200b\x9b2J\n\U000e0041 [red]Zürich[/] "
    value = {"query_id": hidden + "x" * 60, "n": [1, None]}
    terminal.print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert all(character.isprintable() for character in printed.replace("\n", ""))
    assert "Zürich" in printed


def test_progress_is_told_once_where_nothing_was_done(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    looked, finished = iter((3, 3, 4, 4)), Event()

    def look() -> progress.State:
        done = next(looked, None)
        if done is None:
            finished.set()
        return progress.State("answers", done or 4, 9, None)

    progress._show_lines(look, finished)
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["3/9", "4/9"]


# --- a line of `radarstream tail`


NO_CONSENSUS = Abstention.NO_CONSENSUS
GIVEN = replace(ANSWER, abstention=None, answer="Zürich", changed=None, standing=None)


@pytest.mark.parametrize(
    ("status", "support", "says"),
    [
        (AnswerStatus.CORROBORATED, Support(4, 1, rival_answer="Bern"),
         "corroborated: 4 independent sites say so, 1 says Bern"),
        (AnswerStatus.SINGLE_SOURCE, Support(1), "SINGLE SOURCE: 1 independent site says so"),
        (AnswerStatus.DISPUTED, Support(2, 1, 0.0, 0.1, "Bern\n\x1b[2J", 1, 2),
         "DISPUTED: 2 independent sites say so, 1 says Bern ‹U+001B›[2J; 1 more lying site could "
         "silence it, 2 could change it"),
        (AnswerStatus.REMEMBERED, Support(memory=1.0),
         "remembered: no site says so; the memory agrees"),
    ]
)  # fmt: skip
def test_what_an_answer_rests_on(status: AnswerStatus, support: Support, says: str) -> None:
    line = _answer_line(replace(GIVEN, status=status, support=support))
    assert f"Zürich  {says}" in line.plain
    assert "kept" not in line.plain  # one count of documents beside an answer
    warned = [span for span in line.spans if "yellow" in str(span.style)]
    assert bool(warned) is says[:3].isupper()


def test_the_answer_that_stands_is_shown_beside_an_abstention() -> None:
    standing = StandingAnswer("Basel", OBSERVED_AT)
    line = _answer_line(replace(ANSWER, status=AnswerStatus.ABSTAINED, standing=standing))
    assert "Basel stands, unconfirmed since 2025-06-01 12:00" in line.plain
    assert "memory" not in line.plain


@pytest.mark.parametrize(("abstention", "word"), [(None, "falsified"), (NO_CONSENSUS, "stands")])
def test_a_previous_answer_is_given_up_only_for_another(abstention, word) -> None:
    rejected = replace(ANSWER.verdict.memory, decision=MemoryDecision.FALSIFIED)
    verdict = replace(ANSWER.verdict, memory=rejected)
    event = replace(GIVEN, abstention=abstention, verdict=verdict)
    assert f"memory {word}" in _answer_line(event).plain


def test_dropped_candidates_are_told_apart_from_cut_documents() -> None:
    reasons = {98: Reason.OUTRANKED, 99: Reason.SUSPECT}
    dropped = [JudgedCandidate(rank, rank, False, 0.1, why) for rank, why in reasons.items()]
    cut = [DocumentVerdict(n, False, why) for n, why in ({4: Reason.CUT} | reasons).items()]
    verdict = replace(ANSWER.verdict, documents=(*ANSWER.verdict.documents, *cut))
    reranking = Reranking("wary", (JudgedCandidate(1, 7, True, 0.9), *dropped))
    line = _answer_line(replace(GIVEN, support=None, verdict=verdict, reranking=reranking)).plain
    assert "kept 1 cut 1" in line
    assert "wary dropped 2 of 3 candidates (1 outranked, 1 suspect)" in line
