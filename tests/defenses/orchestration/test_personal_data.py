"""Personal data: what is found in each form, and which facts are left alone."""

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.orchestration.audit import MOST_CHARACTERS
from radarstream.defenses.orchestration.personal_data import PersonalData, personal_data

PERSONAL = [
    (PersonalData.EMAIL, "ada.north@example.org"),
    (PersonalData.EMAIL, "ada (at) example [dot] org"), (PersonalData.EMAIL, "ａda＠example.org"),
    (PersonalData.EMAIL, "ada@exa​mple.org"), (PersonalData.PHONE, "+44 20 7946 0958"),
    (PersonalData.PHONE, "+13028001870"), (PersonalData.PHONE, "+49 (30) 901820-12"),
    (PersonalData.PHONE, "(202) 456-1111"), (PersonalData.PHONE, "202-456-1111"),
    (PersonalData.PHONE, "1-202-555-0199"), (PersonalData.CARD, "4111 1111 1111 1111"),
    (PersonalData.CARD, "4111111111111111"), (PersonalData.CARD, "3782-822463-10005"),
    (PersonalData.CARD, "４111 1111 1111 1111"),
    (PersonalData.ACCOUNT, "GB82 WEST 1234 5698 7654 32"),
    (PersonalData.ACCOUNT, "DE89370400440532013000"), (PersonalData.IDENTITY, "12345678Z"),
    (PersonalData.IDENTITY, "X1234567L"), (PersonalData.IDENTITY, "RSSMRA85T10A562S"),
    (PersonalData.IDENTITY, "529.982.247-25"), (PersonalData.IDENTITY, "44051401359"),
    (PersonalData.IDENTITY, "811228-9874"), (PersonalData.IDENTITY, "19811228-9874"),
    (PersonalData.IDENTITY, "131052-308T"), (PersonalData.IDENTITY, "2 55 08 14 168 025 38"),
    (PersonalData.IDENTITY, "85.07.30-033.28"), (PersonalData.IDENTITY, "11010519491231002X"),
    (PersonalData.IDENTITY, "2341 2341 2346"), (PersonalData.IDENTITY, "130-692-544"),
    (PersonalData.IDENTITY, "536-90-4399"), (PersonalData.ADDRESS, "8.8.4.4"),
    (PersonalData.ADDRESS, "192.168.1.20"), (PersonalData.ADDRESS, "2001:db8::8a2e:370:7334"),
]  # fmt: skip
# A digit changed, or a form that facts have.
FACTS = [
    "info@example.org", "press@example.org", "at example dot org", "1-800-555-0199",
    "(888) 868-4631", "+1 855-411-2372", "+44 800 123456", "@ada_north", "4111 1111 1111 1112",
    "GB83 WEST 1234 5698 7654 32", "12345678A", "RSSMRA85T10A562T", "529.982.247-35",
    "44051401358", "811228-9875", "131052-308U", "85.07.30-033.29", "110105194912310021",
    "2341 2341 2345", "130-692-545", "000-12-3456", "1,234,567,890 people", "+12 345 678 votes",
    "+1.5 million", "1939-1945", "2023-07-07", "07.07.2023 10:30:45", "ISBN 978-3-16-148410-0",
    "clause 252.204-7012", "version 1.2.3.4", "v1.2.3.4", "127.0.0.1", "256.1.1.1",
    "Genesis 12:30:15", "3.14159265358979", "0.12345678901234567", "$4,111,111,111,111,111",
    "51.5074, -0.1278", "a score of 202-456", "10^12 atoms", "doi 10.1000/182.4567.8901",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), PERSONAL)
@pytest.mark.parametrize("around", ["{}", "Write to {}.", "({}), or “{}”"])
def test_found_at_its_place(kind: PersonalData, text: str, around: str):
    answer = around.format(*[text] * around.count("{}"))
    found = [one for one in personal_data(answer) if one.kind is kind]
    assert [answer[one.start : one.end] for one in found] == [text] * around.count("{}")


@pytest.mark.parametrize("text", FACTS)
@pytest.mark.parametrize("around", ["{}", "It was {} then.", "({})"])
def test_facts_are_left_alone(text: str, around: str):
    assert list(personal_data(around.format(text))) == []


def test_a_word_announces_what_has_no_form_of_its_own():
    for text, number in [
        ("Phone: 030 123456", "030 123456"),
        ("his mobile number is 0171 2345678.", "0171 2345678"),
        ("NHS number 943 476 5919", "943 476 5919"),
    ]:
        assert [text[one.start : one.end] for one in personal_data(text)] == [number]
        assert list(personal_data(number)) == []


@settings(deadline=None)
@given(st.text(max_size=60))
def test_places_are_within_the_text(text: str):
    for one in personal_data(text):
        assert 0 <= one.start < one.end <= len(text)


@pytest.mark.parametrize("unit", ["1 ", "1-", "a.", "+1", "tel 1", "a@a.", "::", "AB12 ", "(2"])
def test_hostile_text_takes_no_longer(unit: str):
    text = (unit * MOST_CHARACTERS)[:MOST_CHARACTERS]
    started = process_time()
    list(personal_data(text))
    assert process_time() - started < 1.0
