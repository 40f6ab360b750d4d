"""Names of senders: nobody's may look like another's."""

import json
from dataclasses import replace

import pytest

from radarstream.pipelines.job.incidents.intake import checked
from radarstream.schemas.codec import decode_complaint
from radarstream.schemas.errors import InputError
from radarstream.schemas.incidents import Complaint
from radarstream.schemas.names import flaw_of, plain_name
from tests.wire_samples import COMPLAINT


def sent_by(name: str) -> Complaint:
    """A complaint as it is on the wire, read."""
    told = {"schema": "answer.complaint/1", "sender": name, "query_id": "cup"}
    told["sent_at"] = "2025-06-01T12:00:00Z"
    return decode_complaint(json.dumps(told).encode(), now=None)


@pytest.mark.parametrize(
    "name", [" ", "ada ", "ada\xa0lovelace", "ada  lovelace", "\u3164", "ada\u2800", "a\u115fda"]
)
def test_white_space_and_fillers_make_no_other_name(name: str) -> None:
    with pytest.raises(InputError, match="do not show"):
        sent_by(name)


@pytest.mark.parametrize(
    "name", ["\u0430da", "ada\x1b[2J", "ada\x9b", "a\u202eda", "\ud800", "ada\n", "x" * 201, ""]
)
def test_a_complaint_of_a_name_that_hides_something_is_refused(name: str) -> None:
    """By the wire format, and where a person types it."""
    with pytest.raises(InputError):
        sent_by(name)
    with pytest.raises(InputError):
        checked(replace(COMPLAINT, sender=name))


def test_names_that_look_like_others_are_flawed() -> None:
    for name, flaw in [
        ("\u0430da", "several scripts"),  # a Cyrillic letter
        ("\u0418\u0432\u0430\u043d Smith", "several scripts"),
        ("\uae40\u3084", "several scripts"),  # Hangul with Hiragana
        ("\u16a0\u16a2", "several scripts"),  # runes: of no script in use
        ("\uff41da", "another shape"),  # full width
        ("\U0001d41ada", "another shape"),  # bold
        ("\ufb01ona", "another shape"),  # a ligature
        ("a\u034fda", "do not show"),  # a combining grapheme joiner
        ("\u2764\ufe0f", "do not show"),  # a variation selector
        ("ada\U000e0041", "do not show"),  # a tag
        ("ad\u200ca", "do not show"),  # Latin letters do not join
        ("\u0631\u200c\u0627", "do not show"),  # nor does reh with what follows
        ("\u0639\u0644\u06cc\u200c", "do not show"),  # nor the last letter
        ("\U0001f469\u200d\U0001f680", "do not show"),
        ("ada\u0307\u0307", "more marks"),  # one dot over another
        ("ad\u00e1\u0301", "more marks"),
        ("ada\u0338", "more marks"),  # struck through
        ("pipeline\u0332", "more marks"),  # underlined
        ("ada\u20dd", "more marks"),  # in a circle
    ]:
        assert flaw in flaw_of(name)


def test_names_as_people_write_them_have_no_flaw() -> None:
    for name in [
        "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",  # Persian, with the joiner it needs
        "\u0915\u094d\u200d\u0937",  # Devanagari
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala
        "\u09b0\u200d\u09cd\u09af\u09be\u099a\u09c7\u09b2",  # Bengali
        "\u0d28\u0d4d\u0d2f\u0d3e\u0d30\u0d4d\u200d",  # Malayalam
        "\u0e2d\u0e33\u0e19\u0e32\u0e08",  # Thai, with a vowel that NFKC takes apart
        "\u054d\u0587\u0561\u056f",  # Armenian likewise
        "\u0418\u0432\u0430\u043d \u041f\u0435\u0442\u0440\u043e\u0432",
        "\u30e4\u30de\u30c0 \u5c71\u7530 Ken",
        "\uae40\ucca0\uc218 Kim",
        "Zo\u00eb O\u2019Neil-Smith, 2nd",
        "ada@example.org",
        "\U0001f41d" + "x" * 199,
        "Nguy\u1ec5n Th\u1ecb H\u1ed3ng",  # Vietnamese, two marks on a letter
        "\u1eb8\u0301n\u00ec",  # Yoruba, with a mark that no letter is composed with
    ]:
        assert flaw_of(name) == ""
        assert flaw_of(plain_name(name)) == ""
        assert sent_by(name).sender == name
