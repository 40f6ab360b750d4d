"""The guard for programs."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import pytest

import radarstream
from radarstream import AsyncGuard, Given, Guard
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents.kept_answers import find_answer
from radarstream.connectors.state_table.queries.memory import load
from radarstream.library.questions import Question
from radarstream.pipelines.settings import load_settings
from radarstream.schemas import errors
from radarstream.schemas.claims import ClaimVerdict
from radarstream.schemas.errors import InputError, ModelError, ReasonClass
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.snapshot import Query
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.times import whole_milliseconds
from radarstream.schemas.verdict import Abstention, MemoryDecision, Reason
from tests.clocks import at_once
from tests.documents import DOCX_TYPE, docx, pdf

CAPITAL = "What is the capital of Peru?"
RESTS = ("is the capital of Peru.", "is its capital.")
TRUE = [f"Lima {rest}" for rest in RESTS]
LIE = "Cusco is the capital of Peru."
BEFORE_ALL = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def guard():
    with Guard(profile="scripted") as made:
        yield made


def test_an_answer_names_the_documents_that_it_was_given(guard) -> None:
    given = [*({"text": text, "url": f"https://{n}.example"} for n, text in enumerate(TRUE)), LIE]
    answer = guard.answer(CAPITAL, given)
    assert (answer.text, answer.abstained, answer.changed) == ("Lima", False, None)
    assert [judged.document for judged in answer.kept] == given[:2]
    (rejected,) = answer.rejected
    assert (rejected.document, rejected.rank, rejected.answer) == (LIE, 3, "Cusco")
    assert rejected.reason is Reason.CUT
    assert answer.event.sources[0].url == "https://0.example"
    assert "Lima" in repr(answer) and "AnswerEvent" not in repr(answer)
    # What nobody reads is not asked.
    assert answer.event.undefended_answer is None
    assert "undefended answer" not in guard._answering.pipeline.meter.stages


def test_files_bytes_and_folders_are_read_and_a_failure_is_of_its_question(guard, tmp_path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("Minutes.", TRUE[0]))
    (tmp_path / "b.txt").write_text(LIE)
    word = Given(docx(TRUE[1]), media_type=DOCX_TYPE, url="https://b.example/")
    inner, locked = Given(url="http://127.0.0.1/"), Given(pdf("Lima", password="secret"))
    answer = guard.answer(CAPITAL, [locked, tmp_path, word])
    assert [(judged.rank, judged.page) for judged in answer.documents] == [
        (2, 2),
        (3, None),
        (4, None),
    ]
    assert [(one.rank, one.name, one.reason) for one in answer.unread] == [
        (1, "document 1", "encrypted")
    ]
    assert [judged.document for judged in answer.kept] == [tmp_path / "a.pdf", word]
    assert answer.event.sources[2].url == "https://b.example/"
    questions = [(CAPITAL, [bad]) for bad in (tmp_path / "none", inner, locked)]
    *failed, answered = guard.try_many([*questions, (CAPITAL, TRUE)])
    assert [one.reason for one in failed] == ["file", "address", "encrypted"]
    assert answered.text == "Lima"


def test_the_memory_meets_the_next_documents_of_the_question_in_any_case_or_of_its_id(guard):
    guard.answer(CAPITAL, TRUE)
    answer = guard.answer(CAPITAL.upper(), [LIE, TRUE[0]])
    assert (answer.memory.previous_answer, answer.event.step) == ("Lima", 1)
    assert guard.answer(CAPITAL, TRUE, id="other").event.step == 0


def test_the_memory_outlives_the_guard(tmp_path: Path) -> None:
    for step in range(2):
        with Guard(profile="scripted", memory=tmp_path / "m.db") as guard:
            assert guard.answer(CAPITAL, TRUE).event.step == step
    with Guard(profile="scripted", memory=f"sqlite:///{tmp_path}/m.db") as guard:
        answer = guard.answer(CAPITAL, TRUE)
    assert (answer.event.step, answer.memory.decision) == (2, MemoryDecision.RETAINED)


@pytest.mark.parametrize("name", ["a?b.db", "a%20b.db", "a b#c.db"])
def test_a_memory_is_in_the_file_that_was_named(tmp_path: Path, name: str) -> None:
    with Guard(profile="scripted", memory=tmp_path / name) as guard:
        guard.answer(CAPITAL, TRUE)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_closed_guard_says_so_and_may_be_closed_again(tmp_path: Path) -> None:
    for memory in (None, tmp_path / "m.db"):
        guard = Guard(profile="scripted", memory=memory)
        guard.close()
        guard.close()
        with pytest.raises(RuntimeError, match="closed"):
            guard.answer(CAPITAL, TRUE)


def test_a_memory_of_another_defence_is_refused(tmp_path: Path) -> None:
    with Guard(profile="scripted", memory=tmp_path / "m.db") as guard:
        guard.answer(CAPITAL, TRUE)
    with (
        Guard(profile="scripted", memory=tmp_path / "m.db", defense="vanilla") as guard,
        pytest.raises(errors.ConfigurationError, match="'voices'"),
    ):
        guard.answer(CAPITAL, TRUE)


def test_documents_older_than_the_memory_are_refused(guard) -> None:
    def late(at: datetime | None) -> bool:
        with pytest.raises(InputError) as refused:
            guard.answer(CAPITAL, TRUE, at=at)
        return refused.value.reason is ReasonClass.LATE

    guard.answer(CAPITAL, TRUE, at=NEW_YEAR)
    assert late(NEW_YEAR) and late(NEW_YEAR - timedelta(days=1))
    ahead = datetime.now(UTC) + timedelta(days=1)
    assert guard.answer(CAPITAL, TRUE, at=ahead).event.step == 1
    assert guard.answer(CAPITAL, TRUE).event.observed_at > ahead  # without a time: newer
    guard.answer(CAPITAL, TRUE, at=datetime.max.replace(tzinfo=UTC))
    assert late(None)  # there is no newer time


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        (Question("", TRUE), ValueError, "question has 1 to 2000"),
        (Question("x" * 2_001, TRUE), ValueError, "question has 1 to 2000"),
        (Question(None, TRUE), TypeError, "`question` is NoneType"),
        (Question(CAPITAL, "one text"), TypeError, "`documents` is one document"),
        (Question(CAPITAL, None), TypeError, "`documents` is NoneType"),
        (Question(CAPITAL, [None]), TypeError, "document 1 .* has no text"),
        ((CAPITAL, ["", " "]), ValueError, "`documents` is empty"),
        ((CAPITAL,), TypeError, "pair of question and documents"),
        (CAPITAL, TypeError, "pair of question and documents"),
        # The missing zone is the mistake.
        (Question(CAPITAL, TRUE, datetime(2024, 1, 1)), ValueError, "`at`"),  # noqa: DTZ001
        (Question(CAPITAL, TRUE, "2024-01-01"), TypeError, "`at`"),
        (Question(CAPITAL, TRUE, None, ""), ValueError, "id"),
        (Question(CAPITAL, TRUE, None, 5), TypeError, "`id` is int"),
        (Question(CAPITAL, TRUE, None, "a\ud800b"), ValueError, "id"),
        (Question(CAPITAL, TRUE, BEFORE_ALL), ValueError, "`at`"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_remembered(guard, asked, error, told):
    with pytest.raises(error, match=told):
        guard.try_many([(CAPITAL, TRUE), asked])
    assert guard.answer(CAPITAL, TRUE).event.step == 0


def test_too_many_documents_are_told_with_the_name_of_the_limit(guard) -> None:
    refused, answered = guard.try_many([(CAPITAL, TRUE * 5_000), (CAPITAL, TRUE)])
    assert str(refused).endswith("10000 documents, the limit is 200 (limits.documents)")
    assert answered.text == "Lima"


def test_a_model_that_fails_fails_its_question_alone(guard, monkeypatch) -> None:
    generator = type(guard._answering.pipeline.models.generator)
    complete, chile = generator.complete, ("Capital of Chile?", ["Santiago."])

    def failing(self, prompts):
        if any("Chile" in prompt.question for prompt in prompts):
            raise ModelError("away")
        return complete(self, prompts)

    monkeypatch.setattr(generator, "complete", failing)
    failed, answered = guard.try_many([chile, (CAPITAL, TRUE)])
    assert isinstance(failed, ModelError) and answered.text == "Lima"
    with pytest.raises(ModelError, match="away"):
        guard.answer_many([(CAPITAL, TRUE), chile])
    assert guard.answer(CAPITAL, TRUE).event.step == 2


def test_an_answer_says_what_is_behind_it_and_what_stands_without_one(tmp_path: Path) -> None:
    with Guard(profile="scripted", memory=tmp_path / "m.db") as guard:
        given = guard.answer(CAPITAL, TRUE)
        thin = guard.answer(CAPITAL, [LIE])
        lies = [f"{city} {rest}" for city in ("Cusco", "Ica") for rest in RESTS]
        torn = guard.answer(CAPITAL, lies)
        other = guard.answer("Capital of Chile?", ["Santiago."])
    assert (given.status, given.standing) == (AnswerStatus.CORROBORATED, None)
    assert given.support.sites_for == len(TRUE)
    assert (thin.text, thin.status) == ("Lima", AnswerStatus.REMEMBERED)
    assert (thin.support.sites_for, thin.support.rival_sites) == (0, 1)
    assert (torn.text, torn.abstention) == ("", Abstention.OUTWEIGHED)
    assert (torn.status, torn.support.sites_for) == (AnswerStatus.ABSTAINED, 2)
    confirmed_at = whole_milliseconds(given.event.observed_at)
    assert thin.standing == torn.standing == StandingAnswer("Lima", confirmed_at)
    assert (other.status, other.standing) == (AnswerStatus.ABSTAINED, None)


def test_with_the_settings_of_attribution_an_answer_can_be_complained_about(tmp_path: Path) -> None:
    settings = load_settings(profile="scripted", attribution={"enabled": True})
    with Guard(settings=settings, memory=tmp_path / "m.db") as guard:
        answer = guard.answer(CAPITAL, TRUE)
        engine = open_engine(guard.settings.database)
        kept = find_answer(engine, answer.event.query_id, 0)
        engine.dispose()
    assert kept is not None and kept.answer == "Lima"
    assert len(kept.snapshot.documents) == 2


def test_two_guards_on_one_database_lose_no_step(tmp_path: Path) -> None:
    memory = tmp_path / "m.db"
    Guard(profile="scripted", memory=memory).close()

    def ask() -> None:
        with Guard(profile="scripted", memory=memory) as guard:
            for _ in range(5):
                guard.answer(CAPITAL, TRUE)

    at_once(lambda _: ask(), 2)
    engine = open_engine(f"sqlite:///{memory}")
    (row,) = load(engine, [Query.from_text(CAPITAL).id]).values()
    engine.dispose()
    assert row.step == 10


def test_the_asynchronous_twin_batches_what_waits() -> None:
    async def ask() -> list[str]:
        async with AsyncGuard(profile="scripted") as guard:
            batches = []
            tried = guard._guard.try_many
            guard._guard.try_many = lambda asked: batches.append(len(asked)) or tried(asked)
            answers = await asyncio.gather(
                *(guard.answer(f"Capital of {n}?", [f"{n}ville is it."]) for n in "ABCDE"),
                guard.answer("Capital of Chile?", "no list"),
                guard.answer(CAPITAL, (text for text in TRUE)),  # which can be read once
                return_exceptions=True,
            )
            assert isinstance(answers[-2], TypeError) and answers[-1].text == "Lima"
            assert len(batches) < len(answers) + 2
            many = await guard.answer_many([(CAPITAL, TRUE), (CAPITAL, TRUE)])
            assert [answer.event.step for answer in many] == [1, 2]
            return [answer.question for answer in answers[:-2]]

    assert asyncio.run(ask()) == [f"Capital of {n}?" for n in "ABCDE"]


@pytest.mark.parametrize("raised", [SystemError, StopIteration, GeneratorExit])
def test_whatever_breaks_is_given_to_who_asked(raised: type[BaseException]) -> None:
    async def ask() -> BaseException | None:
        async with AsyncGuard(profile="scripted") as guard:
            tried = guard._guard.try_many
            guard._guard.try_many = broken
            (outcome,) = await asyncio.gather(guard.answer(CAPITAL, TRUE), return_exceptions=True)
            guard._guard.try_many = tried
            assert (await guard.answer(CAPITAL, TRUE)).text == "Lima"
            return outcome

    def broken(_: object) -> None:
        raise raised("it broke")

    outcome = asyncio.run(asyncio.wait_for(ask(), 30))
    assert "it broke" in str(outcome)


def test_closing_may_be_cancelled_while_a_batch_is_answered() -> None:
    async def ask() -> tuple[str, bool]:
        guard = AsyncGuard(profile="scripted")
        waiting = asyncio.create_task(guard.answer(CAPITAL, TRUE))
        await asyncio.sleep(0)  # the question waits for a batch
        while guard._batched._waiting:
            await asyncio.sleep(0)
        closing = asyncio.create_task(guard.close())
        await asyncio.sleep(0)  # it waits for the batch
        closing.cancel()
        answer = await waiting
        await guard.close()
        with pytest.raises(RuntimeError, match="closed"):
            await guard.answer(CAPITAL, TRUE)
        return answer.text, closing.cancelled()

    assert asyncio.run(asyncio.wait_for(ask(), 30)) == ("Lima", True)


def test_an_asynchronous_guard_outlives_a_loop_that_was_closed() -> None:
    guard = AsyncGuard(profile="scripted")
    abandoned = asyncio.new_event_loop()
    task = abandoned.create_task(guard.answer(CAPITAL, TRUE))
    abandoned.run_until_complete(asyncio.sleep(0))

    async def ask() -> int:
        return (await guard.answer(CAPITAL, TRUE)).event.step

    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(ask())
    abandoned.run_until_complete(task)
    task = abandoned.create_task(guard.answer(CAPITAL, TRUE))
    abandoned.run_until_complete(task)
    abandoned.close()
    assert asyncio.run(asyncio.wait_for(ask(), 30)) == 2
    asyncio.run(guard.close())


LOADED = """
import logging, sys
import radarstream
print(radarstream.__version__, radarstream.Guard.__name__)
print({"numpy", "pydantic", "sqlalchemy", "apache_beam"} & set(sys.modules))
with radarstream.Guard(profile="scripted") as guard:
    pages = ["Lima is the capital.", "The capital is Lima."]
    print(guard.answer("What is the capital of Peru?", pages).abstained)
print({"apache_beam", "httpx", "scipy.sparse", "sqlalchemy.dialects.postgresql"} & {*sys.modules})
print(logging.getLogger().handlers)
"""


def test_what_is_not_used_is_not_loaded_and_nothing_is_logged() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    expected = [f"{version('radarstream')} Guard", "set()", "False", "set()", "[]"]
    assert (ran.stdout.splitlines(), ran.stderr) == (expected, "")


def test_every_public_name_is_there() -> None:
    for name in radarstream.__all__:
        assert getattr(radarstream, name).__doc__
    assert set(radarstream.__all__) <= set(dir(radarstream))
    with pytest.raises(AttributeError):
        _ = radarstream.nothing


def test_a_claim_is_checked_with_the_documents_on_either_side(guard) -> None:
    found = guard.check("Lima is the capital of Peru.", [*TRUE, LIE], withstand=0)
    assert found.verdict is ClaimVerdict.SUPPORTED
    assert [judged.document for judged in found.supporting] == TRUE
    assert [judged.document for judged in found.contradicting] == [LIE]
    assert (found.result.claim.question, found.answer.text) == (CAPITAL, "Lima")
    # One road: the claim's question has the memory that asking it has.
    assert guard.answer(CAPITAL, TRUE).memory.previous_answer == "Lima"


@pytest.mark.parametrize(
    ("claim", "documents", "error"),
    [("", TRUE, ValueError), ("x" * 2_001, TRUE, ValueError), (7, TRUE, TypeError),
     (TRUE[0], [""], ValueError), (TRUE[0], [7], TypeError),
     ("Lima is not the capital of Peru.", TRUE, errors.ClaimError)],
)  # fmt: skip
def test_what_cannot_be_checked_is_an_error(guard, claim, documents, error) -> None:
    with pytest.raises(error):
        guard.check(claim, documents)


def test_the_twin_checks_too() -> None:
    async def checking():
        async with AsyncGuard(profile="scripted") as guard:
            return await guard.check("Cusco is the capital of Peru.", TRUE)

    assert asyncio.run(checking()).verdict is ClaimVerdict.REFUTED
