"""The scope of an attribution: published readings, speculation, the judge, failures."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from radarstream.defenses.attribution.scope import Scope, ScopeOptions, checked
from radarstream.defenses.protocol import AttemptAll, Complete, Relate
from radarstream.schemas.attribution import Case, RankedText
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import NO, YES, Task
from radarstream.schemas.snapshot import Document
from tests.builders import QUESTION, make_case
from tests.driving import Script, run

RULES = ("public_code", "algorithm_1", "prose")


def case(count: int, k: int = 5, answer: str = "lie") -> Case:
    return make_case([f"text {rank + 1}" for rank in range(count)], answer=answer, k=k)


def replying(flags: str, k: int = 5):
    """The wrong answer from segments with a 1 (the last flag repeats), else "truth"."""

    def answer(request: Complete) -> AtomicAnswer:
        if not request.passages:
            return AtomicAnswer("truth")
        segment = (int(request.passages[0].split()[-1]) - 1) // k
        return AtomicAnswer("lie" if flags[min(segment, len(flags) - 1)] == "1" else "truth")

    return answer


def narrowed(flags: str, count: int = 50, k: int = 5, **options: object) -> tuple[Scope, Script]:
    script = Script(answer=replying(flags, k))
    return run(ScopeOptions(**options).narrowed(case(count, k)), script), script


def segments_asked(script: Script) -> list[int]:
    """The first rank of every segment that was asked, in order."""
    asked = [r for attempt in script.asked(AttemptAll) for r in attempt.requests]
    return [int(r.passages[0].split()[-1]) for r in asked if isinstance(r, Complete)]


def rounds(script: Script) -> int:
    """How often segments were asked; the judge, whom equal words do not need, not counted."""
    return sum(isinstance(a.requests[0], Complete) for a in script.asked(AttemptAll))


def test_the_three_readings_and_the_default() -> None:
    for flags, sizes in [
        ("10", (10, 5, 10)), ("110", (20, 15, 20)), ("0", (10, 0, 5)), ("1010", (10, 5, 10)),
        ("111100000", (40, 35, 40)), ("1", (50, 50, 50)),
    ]:  # fmt: skip
        found = [narrowed(flags, scope=rule)[0] for rule in RULES]
        assert tuple(len(scope.texts) for scope in found) == sizes, flags
        for scope in found:
            assert [t.document.rank for t in scope.texts] == list(range(1, len(scope.texts) + 1))
    scope, script = narrowed("110")
    assert (len(scope.texts), scope.matched) == (20, (True, True, False, False))
    assert segments_asked(script) == [6, 11, 16]
    assert narrowed("110", scope="public_code")[0] == scope


def test_segments_are_shown_in_order_and_asked_together() -> None:
    _, script = narrowed("10", count=8)
    (asked,) = script.asked(AttemptAll)[0].requests
    passages = tuple(f"text {rank}" for rank in (6, 7, 8))
    assert asked == Complete(Task.ANSWER_FROM_DOCUMENTS, QUESTION, passages, final=False)
    _, script = narrowed("11110000")
    sizes = [len(a.requests) for a in script.asked(AttemptAll)]
    completions = [s for a, s in zip(script.asked(AttemptAll), sizes, strict=True)
                   if isinstance(a.requests[0], Complete)]  # fmt: skip
    assert completions == [1, 2, 4]


@pytest.mark.parametrize(
    ("count", "most", "size"), [(7, 10, 7), (50, 3, 15), (3, 10, 3), (0, 9, 0)]
)
@pytest.mark.parametrize("rule", RULES)
def test_the_search_ends_with_the_texts_or_the_cap(rule, count, most, size):
    scope, script = narrowed("1", count=count, scope=rule, max_segments=most)
    assert len(scope.texts) == size
    assert len(scope.matched) == -(-size // 5)
    assert max(segments_asked(script), default=0) <= size


@example("010", "public_code", 2, 4, 1)
@given(
    st.text("01", min_size=1, max_size=12),
    st.sampled_from(RULES),
    st.integers(1, 12),
    st.integers(1, 23),
    st.integers(1, 4),
)
def test_asking_ahead_changes_only_the_cost(flags, rule, block, count, k):
    one_by_one, script = narrowed(flags, count, k, scope=rule)
    ahead, other = narrowed(flags, count, k, scope=rule, block=block)
    assert ahead == one_by_one
    asked, asked_ahead = segments_asked(script), segments_asked(other)
    assert asked_ahead[: len(asked)] == asked
    assert rounds(other) <= rounds(script)


@given(st.text("01", min_size=1, max_size=12), st.sampled_from(RULES))
def test_without_a_block_nothing_is_asked_in_vain(flags: str, rule: str) -> None:
    scope, script = narrowed(flags, scope=rule)
    assumed = rule == "public_code"
    assert len(segments_asked(script)) == len(scope.matched) - assumed
    assert list(scope.matched) == [
        (assumed and i == 0) or flags[min(i, len(flags) - 1)] == "1"
        for i in range(len(scope.matched))
    ]


class TestJudge:
    def verdicts(self, answer: str, *replies: str, **options: object) -> tuple[bool, ...]:
        """Whether each reply, of a segment of its own, is the answer."""
        texts = case(len(replies), 1, answer)
        said = [AtomicAnswer(reply, abstained=not reply) for reply in replies]
        script = Script(
            answer=lambda r: said[int(r.passages[0].split()[-1]) - 1],
            relation=lambda a, b: (0.8, 0.1) if {a, b} == {"Rome", "In Rome"} else (0.1, 0.8),
        )
        found = [
            run(ScopeOptions(**{"scope": "prose", **options}).narrowed(
                replace(texts, texts=(text,))), script).matched[0]
            for text in texts.texts
        ]  # fmt: skip
        self.script = script
        return tuple(found)

    def test_relations_in_either_direction(self) -> None:
        assert self.verdicts("Rome", "In Rome", "Oslo", "rome") == (True, False, True)
        relates = [r for a in self.script.asked(AttemptAll) for r in a.requests]
        assert [r for r in relates if isinstance(r, Relate)] == [
            Relate(QUESTION, ("Rome", other), (other, "Rome")) for other in ("In Rome", "Oslo")
        ]
        for least, same in ((0.8, True), (0.81, False)):
            assert self.verdicts("Rome", "In Rome", min_entailment=least) == (same,)
        for entailing in (("Rome", "Rome, Italy"), ("Rome, Italy", "Rome")):
            script = Script(
                answer=lambda _: AtomicAnswer("Rome, Italy"),
                relation=lambda a, b, e=entailing: (0.9, 0.0) if (a, b) == e else (0.0, 0.0),
            )
            event = case(1, 1, "Rome")
            assert run(ScopeOptions(scope="prose").narrowed(event), script).matched == (True,)

    @pytest.mark.parametrize("answer", ["Rome", "I don't know", "I cannot provide that"])
    def test_a_bare_abstention_is_never_the_answer(self, answer: str) -> None:
        replies = ("I don't know", "I don\u2019t know.", "")
        assert self.verdicts(answer, *replies) == (False, False, False)
        assert self.verdicts(answer, *replies, judge="model") == (False, False, False)

    def test_refusals_for_the_same_reason_agree_in_any_words(self) -> None:
        declines = "I can not provide false or misleading information"
        lacks = "There is not enough information to answer."
        replies = ("Sorry, I can't help with harmful content.", "The passages do not say.", "Rome")
        assert self.verdicts(declines, *replies) == (True, False, False)
        assert self.verdicts(lacks, *replies) == (False, True, False)
        assert self.verdicts("I don't know", *replies) == (False, True, False)
        assert self.verdicts("Rome", *replies) == (False, False, True)

    @pytest.mark.parametrize(("label", "same"), [(YES, True), (NO, False), ("", False)])
    def test_a_language_model_as_judge(self, label: str, same: bool) -> None:
        def answer(request: Complete) -> AtomicAnswer:
            if request.task is Task.JUDGE_AGREEMENT:
                assert request.passages == ("Rome", "In Rome")
                return AtomicAnswer(label, not label)
            return AtomicAnswer("In Rome")

        script = Script(answer=answer)
        options = ScopeOptions(scope="prose", judge="model")
        assert run(options.narrowed(case(1, 1, "Rome")), script).matched == (same,)


class TestFailures:
    @pytest.mark.parametrize("broken", ["segment", "judge"])
    @pytest.mark.parametrize("block", [1, 5])
    def test_what_nobody_can_tell_is_no_match_and_is_said(self, broken: str, block: int) -> None:
        def answer(request: Complete) -> AtomicAnswer:
            if request.task is Task.JUDGE_AGREEMENT:
                if request.passages[1] == "broken":
                    raise ModelError("failed")
                return AtomicAnswer(YES)
            if request.passages[0] == "text 11" and broken == "segment":
                raise ModelError("failed")
            reply = "broken" if request.passages[0] == "text 11" else "in other words"
            return AtomicAnswer(reply)

        options = ScopeOptions(max_segments=5, block=block, judge="model")
        scope = run(options.narrowed(case(50)), Script(answer=answer))
        assert scope.matched == (True, True, False, True, True)
        assert scope.unjudged == (3,)
        assert "segment 3, taken as no match" in scope.detail

    def test_a_failure_beyond_the_end_says_nothing(self) -> None:
        def answer(request: Complete) -> AtomicAnswer:
            if request.passages[0] == "text 11":
                raise ModelError("failed")
            return AtomicAnswer("truth")

        scope = run(ScopeOptions(block=5).narrowed(case(50)), Script(answer=answer))
        assert (scope.matched, scope.unjudged) == ((True, False), ())


class TestUnaided:
    def asked(self, answer: str, reply: str) -> tuple[object, Script]:
        script = Script(answer=lambda _: AtomicAnswer(reply))
        return run(ScopeOptions().unaided(case(3, answer=answer)), script), script

    def test_unaided_is_without_texts_and_refusing_by_nature_is_intrinsic(self) -> None:
        found, script = self.asked("lie", "lie")
        assert found is True
        asked = Complete(Task.ANSWER_UNAIDED, QUESTION, (), final=False)
        assert script.requests[0] == AttemptAll((asked,))
        assert self.asked("lie", "truth")[0] is False
        declines = "I cannot provide harmful content."
        assert self.asked(declines, "We must decline.")[0] is True
        for lacks in ("I don't know", "There is not enough information."):
            found, script = self.asked(lacks, lacks)
            assert (found, script.requests) == (False, [])


class TestInput:
    def test_cases_are_put_in_order_or_refused(self) -> None:
        event = case(4, answer=" a\n lie ")
        shuffled = replace(event, texts=event.texts[::-1])
        assert checked(shuffled) == replace(event, answer="a lie")
        for change, message in [
            ({"answer": " \n"}, "without an answer"),
            ({"k": 0}, "at least 1"),
            ({"texts": (RankedText("a", Document(1, "x")),) * 2}, "ids"),
        ]:
            with pytest.raises(EvidenceError, match=message):
                checked(replace(case(3), **change))
