"""A person's words about sites, and which sites taught wrong answers that are on record."""

import pytest
from sqlalchemy import Engine, event

from radarstream.connectors.state_table.database.transfer import import_file
from radarstream.connectors.state_table.incidents import quarantine
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.sources import (
    NOTE_CHARACTERS,
    SourceVerdict,
    blocked,
    find_source,
    judge,
    list_sources,
)
from radarstream.pipelines.serving.console.acting import Confirmed, NothingToDoError, Target
from radarstream.pipelines.serving.console.sources import Judge
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import RadarstreamError, StateConflictError
from tests.builders import make_snapshot
from tests.clocks import at_once
from tests.lab.pages.attribution_pages import CUP, LIARS, MAYOR, events, fill

ADDRESSES = (
    "https://ann.github.io/1", "https://www.bob.github.io/1", "https://a.news.example/1",
    "https://lies.example/1", "",
)  # fmt: skip


def say(engine: Engine, domain: str, verdict: SourceVerdict | None, at_ms: int = 1) -> None:
    with engine.begin() as connection:
        judge(connection, domain, verdict, "n" * 2 * NOTE_CHARACTERS, at_ms)


def left_out(engine: Engine) -> list[int]:
    snapshot = make_snapshot([f"text {n}" for n in range(len(ADDRESSES))], urls=ADDRESSES)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *a: asked.append(a[2]))
    first, second = blocked(engine, [snapshot, snapshot])
    assert first == second and len(asked) == 1, "one query for a batch"
    return [document.rank for document in first]


def test_the_nearest_name_that_a_person_judged_decides(engine: Engine) -> None:
    assert left_out(engine) == []
    say(engine, "github.io", SourceVerdict.BLOCKED)
    say(engine, "a.news.example", SourceVerdict.BLOCKED)
    assert left_out(engine) == [1, 2, 3]
    say(engine, "bob.github.io", SourceVerdict.PARDONED)
    say(engine, "a.news.example", None)
    assert left_out(engine) == [1]


def test_sites_are_listed_with_the_wrong_answers_whose_texts_were_removed(engine: Engine) -> None:
    """Two of the four incidents remove texts, each of both sites; one site is blocked."""
    fill(engine)
    with engine.connect() as connection:
        first, second, *judged = list_sources(connection)
        below = find_source(connection, "example")
    assert (first.domain, first.verdict, first.note) == (LIARS[0], "blocked", "a farm of answers")
    assert (second.domain, second.verdict) == (LIARS[1], None)
    assert [source.verdict for source in judged] == ["pardoned"]
    for source in (first, second):
        assert [(b.query_id, b.step, b.answer) for b in source.blame] == [
            (MAYOR[0], 2, MAYOR[2]),
            (MAYOR[0], 1, MAYOR[2]),
        ]
    assert below.blame == ()
    assert not any(b.query_id == CUP[0] for b in first.blame)


def test_only_a_text_that_a_person_let_back_in_is_held_against_nobody(engine: Engine) -> None:
    """The texts begin alike and go on in different words."""
    fill(engine)
    one, *others = (text.text_key for text in events()[1].flagged)
    with engine.begin() as connection:
        quarantine.release(connection, MAYOR[0], [one], 1)
        assert all(find_source(connection, site).blame for site in LIARS)
        quarantine.release(connection, MAYOR[0], others, 1)
        assert not any(source.blame for source in list_sources(connection))


def test_an_import_never_undoes_a_later_word(engine: Engine, export) -> None:
    say(engine, "lies.example", SourceVerdict.BLOCKED, 1)
    file = export(engine)
    say(engine, "lies.example", None, 2)
    with pytest.raises(StateConflictError, match=r"lies\.example"):
        import_file(engine, file)
    assert left_out(engine) == []
    import_file(engine, file, replace=True)
    assert left_out(engine) == [4]


# --- two operators at once ------------------------------------------------------------------------


OPERATORS = ("ada", "bob", "cleo", "dan")
NOW_MS = 1_750_000_000_000


def outcomes(work) -> list[str]:
    """What became of each operator's action: done, or the class of its refusal."""

    def attempt(number: int) -> str:
        try:
            work(OPERATORS[number])
        except RadarstreamError as error:
            return type(error).__name__
        return "done"

    return sorted(at_once(attempt, len(OPERATORS)))


def test_of_several_verdicts_one_is_written(engine: Engine) -> None:
    settings = load_settings(None, profile="scripted")
    target = Target(engine, settings, {"domain": "liar.example"})
    verdicts = dict(
        zip(OPERATORS, (SourceVerdict.BLOCKED, SourceVerdict.PARDONED) * 2, strict=True)
    )
    seen = Judge(SourceVerdict.BLOCKED, "block").propose(target).seen

    def work(name: str) -> None:
        action = Judge(verdicts[name], str(verdicts[name]))
        action.carry_out(target, Confirmed(name, NOW_MS, seen))

    told = outcomes(work)
    assert told.count("done") == 1
    assert set(told) <= {"done", NothingToDoError.__name__, StateConflictError.__name__}
    (row,) = read_actions(engine)
    assert row.action == verdicts[row.user]
