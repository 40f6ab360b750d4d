"""The audit: copied text whatever its dress, grounds, personal data, actions, closed on errors."""

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.orchestration import audit as module
from radarstream.defenses.orchestration.audit import MOST_CHARACTERS, REFUSAL, OutputAudit
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Audited

DOCUMENT = (
    "The harbour of Oslo was opened again on Monday after the fire that had closed it for three "
    "weeks, said the mayor Ada North."
)
OTHER = "A fair in Bergen drew eight thousand visitors in spite of steady rain on both days."
COPIED = "harbour of Oslo was opened again on Monday after the fire that had closed it"
UNSEEN = ["​", "‍", "­", "⁠", "\ufe0f", "\u0301", "\U000e0061"]
LOOKS = str.maketrans("aceiopsxy", "асеіорѕху")


def audited(answer: str, question: str = "What happened?", **options) -> Audited:
    abstained = options.pop("abstained", False)
    method = OutputAudit(**options)
    return method.audit(answer, [OTHER, DOCUMENT], question, abstained=abstained)


def kinds(result: Audited) -> list[str]:
    return [finding.kind for finding in result.findings]


def test_an_answer_in_own_words_passes():
    answer = "It reopened on Monday, three weeks after a fire had shut the harbour in Oslo."
    assert audited(answer) == Audited("pass", answer)


class TestVerbatim:
    def test_spans_are_masked_to_the_character(self):
        answer = f"As they write: {COPIED}. Good."
        found = audited(answer)
        (finding,) = found.findings
        assert answer[finding.start : finding.end] == COPIED
        assert found.action == "mask"
        assert found.text == "As they write: [quotation removed]. Good."
        answer = f"{COPIED}, or: {OTHER} Besides {COPIED}, they say"
        spans = [answer[f.start : f.end] for f in audited(answer).findings]
        assert spans == [COPIED, OTHER.rstrip("."), COPIED]

    @pytest.mark.parametrize(("count", "action"), [(11, "pass"), (12, "mask")])
    def test_so_many_words_in_a_row(self, count: int, action: str):
        run = " ".join(DOCUMENT.split()[3 : 3 + count])
        assert audited(f"Well, {run} is what they wrote in it").action == action

    @pytest.mark.parametrize("unseen", UNSEEN)
    def test_what_is_not_seen_hides_nothing(self, unseen: str):
        assert audited(unseen.join(DOCUMENT)).action == "refuse"

    def test_no_dress_hides_a_copy(self):
        for dressed in [
            DOCUMENT.upper(), DOCUMENT.swapcase(), DOCUMENT.replace(" ", ""),
            DOCUMENT.replace(" ", "\u2009"), DOCUMENT.replace(" ", "-"),
            DOCUMENT.replace(" ", "\n> "), " ".join(DOCUMENT),
            "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in DOCUMENT),
            DOCUMENT.translate(LOOKS), DOCUMENT.replace("o", "ö").replace("e", "é"),
            f"*{DOCUMENT.replace(' ', '* *')}*",
        ]:  # fmt: skip
            assert audited(dressed).action == "refuse"

    @settings(max_examples=20, deadline=None)
    @given(st.data())
    def test_any_mixture_of_tricks(self, data: st.DataObject):
        """Each character may change case, look alike, and be followed by what is not seen."""
        dressed = [
            data.draw(st.sampled_from([c, c.upper(), c.translate(LOOKS)]))
            + data.draw(st.sampled_from(["", *UNSEEN, " ", ".", "\u3000"]))
            for c in COPIED
        ]
        assert "verbatim" in kinds(audited("".join(dressed)))

    def test_a_copy_with_changes_is_one_by_its_grams(self):
        """Every eighth word is another, so that no twelve stand in a row.

        What stands beside an exact copy, or beside the user's own words, is judged as well.
        """
        words = DOCUMENT.split()
        changed = " ".join("xx" if i % 8 == 7 else w for i, w in enumerate(words))
        found = audited(changed)
        assert (found.action, kinds(found)) == ("refuse", ["verbatim"])
        assert found.findings[0].detail.endswith("of 4-grams")
        rest = " ".join(w for i, w in enumerate(words * 2) if i % 8 != 7)
        assert audited(f"{OTHER} {rest}").action == "refuse"
        assert audited(f"{OTHER} {rest}", OTHER).action == "refuse"

    @pytest.mark.parametrize("answer", ["Oslo", "It was opened again on Monday after the fire"])
    def test_short_answers_may_copy(self, answer: str):
        assert audited(answer) == Audited("pass", answer)

    def test_what_the_user_wrote_is_no_leak_but_its_continuation_is(self):
        # Else a mask would tell whether the text is in the corpus.
        question = f"Is this right: {COPIED}?"
        answer = f"Yes, {COPIED}."
        assert audited(answer, question) == Audited("pass", answer)
        assert audited(answer).action == "mask"
        words = (DOCUMENT + " " + DOCUMENT.replace("Oslo", "Bergen")).split()
        document = " ".join(words)
        start, whole = " ".join(words[:13]), " ".join(words[:30])
        found = OutputAudit().audit(whole, [document], f"Go on: {start}")
        (finding,) = found.findings
        assert whole[finding.start : finding.end] == " ".join(words[13:30])

    def test_masks_refusals_and_scripts_without_blanks(self):
        answer = f"As they write: {COPIED}."
        found = audited(answer, on_verbatim="regenerate")
        assert (found.action, found.text) == ("regenerate", audited(answer).text)
        assert audited(DOCUMENT, on_verbatim="regenerate").text == REFUSAL
        assert audited("Ask ada@example.org in Oslo", on_verbatim="regenerate").action == "mask"
        document = "東京都知事選挙は七月七日に投開票が行われる予定である"
        assert OutputAudit().audit(document, [document]).action == "refuse"
        assert OutputAudit().audit("七月七日", [document]).action == "pass"

    @settings(deadline=None)
    @given(st.text(max_size=80), st.text(max_size=200))
    def test_what_remains_is_no_copy(self, before: str, after: str):
        found = audited(f"{before} {COPIED} {after}")
        assert COPIED not in found.text
        again = [f for f in OutputAudit().findings(found.text, [DOCUMENT]) if f.kind == "verbatim"]
        assert not [f for f in again if f.detail == "words in a row"]


class TestGrounding:
    def test_words_that_no_document_has_are_noted(self):
        answer = "Rome won twice in Naples"
        found = audited(answer)
        assert (found.action, found.text, kinds(found)) == ("pass", answer, ["ungrounded"])
        assert (found.findings[0].start, found.findings[0].end) == (0, len(answer))
        assert kinds(OutputAudit().audit("Rome", [])) == ["ungrounded"]
        assert kinds(audited("I don't know", abstained=True)) == []

    def test_an_answer_without_content_words_needs_no_grounds(self):
        for answer, noted in [
            ("aa b c d Oslo", False),
            ("aa b c d e Oslo", True),  # the share decides
            *[(answer, False) for answer in ("", "Yes", "no", "It is not.", "…")],
        ]:
            assert (kinds(audited(answer)) == ["ungrounded"]) is noted


class TestPersonalData:
    def test_personal_data_is_masked_unless_the_user_wrote_it(self):
        found = audited("In Oslo, ask Ada North, ada@example.org, 202-456-1111")
        assert found.action == "mask"
        assert found.text == (
            "In Oslo, ask Ada North, [personal data removed], [personal data removed]"
        )
        assert [f.detail for f in found.findings] == ["email", "phone"]
        alone = audited("ada@example.org")
        assert (alone.action, alone.text) == ("refuse", REFUSAL)
        answer = "Oslo can be reached at (202) 456-1111"
        assert audited(answer, "Whose number is 202-456-1111?") == Audited("pass", answer)
        document = f"{COPIED} as ada@example.org wrote on the very same day to everybody in town"
        found = OutputAudit().audit(f"Look: {document}!", [document])
        assert found.text == "Look: [quotation removed]!"
        assert kinds(found) == ["verbatim", "personal_data"]


class TestClosed:
    def test_an_error_and_an_answer_too_long_to_read_refuse(self, monkeypatch: pytest.MonkeyPatch):
        def broken(*_: object) -> None:
            raise RuntimeError("disk")

        monkeypatch.setattr(module, "copied_runs", broken)
        assert audited("Oslo") == Audited("refuse", REFUSAL, error="RuntimeError")
        assert audited("a" * (MOST_CHARACTERS + 1)).action == "refuse"

    @pytest.mark.parametrize(
        "options", [{"least_tokens": 0}, {"on_verbatim": "pass"}, {"least": 1}]
    )
    def test_wrong_options_are_refused(self, options: dict):
        with pytest.raises((ValueError, TypeError, ConfigurationError)):
            OutputAudit(**options)


@settings(deadline=None)
@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3), st.text(max_size=100))
def test_total_and_deterministic(answer: str, passages: list[str], question: str):
    found = OutputAudit().audit(answer, passages, question)
    assert found == OutputAudit().audit(answer, passages, question)
    assert found.error == ""
    assert all(0 <= f.start <= f.end <= len(answer) for f in found.findings)
    assert list(found.findings) == sorted(found.findings, key=lambda f: (f.start, f.end, f.kind))


@pytest.mark.parametrize("unit", ["a ", "word ", "ab", "é ", "​a", "@.", "1 ", "東"])
def test_a_page_of_a_megabyte_takes_less_than_a_second(unit: str):
    page = (unit * 1_000_000).encode()[:1_000_000].decode(errors="ignore")
    answer = page[:2_000]
    started = process_time()
    OutputAudit().audit(answer, [page], "What?")
    assert process_time() - started < 1.0
