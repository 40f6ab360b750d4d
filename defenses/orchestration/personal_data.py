"""Finds personal data in a text by form and, if the kind has them, check digits.

It leaves out public facts: years, dates, amounts, versions, addresses of roles (info@…), toll-free
numbers. A kind without check digits counts only in a form that numbers in prose do not have.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from ipaddress import ip_address
from typing import Final

import regex

from radarstream.defenses.orchestration.folding import as_written, folded, origins


class PersonalData(StrEnum):
    """Kinds of personal data; the values are their names in findings and options."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    ACCOUNT = "account"  # IBAN
    IDENTITY = "identity"  # national identity numbers
    ADDRESS = "ip_address"


@dataclass(frozen=True)
class Form:
    """A form of a kind. `holds` checks a match `as_written`, or else its capitals and digits."""

    kind: PersonalData
    pattern: regex.Pattern[str]
    holds: Callable[[str], bool]
    as_written: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Personal data at `text[start:end]`; `value` is its letters and digits, in capitals."""

    kind: PersonalData
    start: int
    end: int
    value: str


MOST_DIGITS: Final = 15  # of a telephone number (E.164)
LEAST_DIGITS: Final = 7
LEAST_ABROAD: Final = 9  # with a country code; "+12 345 678" is an amount
LEAST_DIFFERENT: Final = 3
# Toll-free numbers, in North America and elsewhere, belong to offices, not to persons.
_TOLL_FREE: Final = regex.compile(r"1?8(?:00|33|44|55|66|77|88)\d{7}|\d{1,3}800\d{6,8}")
_ROLES: Final = """
    abuse admin billing careers contact editor editorial enquiries feedback hello help hostmaster
    info inquiries jobs mail marketing media news newsroom noreply office postmaster press privacy
    sales security service support team webmaster
"""
ROLES: Final = frozenset(_ROLES.split())  # mail addresses of offices
_CARDS: Final = r"(?:4|5[1-5]|2[2-7]|3[4-9]|6[0245])"
_SEPARATED: Final = r"[ .\u2010-\u2015-]?"


def _email(text: str) -> bool:
    name = regex.split(r"@|\bat\b|[^\w.+-]", text, maxsplit=1, flags=regex.I)[0]
    return name.casefold().rstrip(" .") not in ROLES


def _phone(text: str) -> bool:
    digits = regex.sub(r"\D", "", text)
    least = LEAST_ABROAD if text.startswith("+") else LEAST_DIGITS
    if not least <= len(digits) <= MOST_DIGITS or len(set(digits)) < LEAST_DIFFERENT:
        return False
    return _TOLL_FREE.fullmatch(digits) is None


def _valid(name: str) -> Callable[[str], bool]:
    """Return the check of a module of stdnum, which is imported on first use."""
    return lambda text: bool(import_module(f"stdnum.{name}").is_valid(text))


def _network(text: str) -> bool:
    """Whether a text is the IP address of another host."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast)


def _form(
    kind: PersonalData, pattern: str, holds: Callable[[str], bool], *, as_written: bool = False
) -> Form:
    """Make a form that is not part of a longer number or word."""
    bounded = rf"(?<![\w+])(?<!\d[.,:/-]){pattern}(?![\w])(?![.,:/-]\d)"
    return Form(kind, regex.compile(bounded, regex.I), holds, as_written)


_DATE: Final = r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"  # year, month, day
_ANNOUNCED: Final = (
    r"\b(?:tel|telephone|phone|mobile|cell|fax|whatsapp)\b[ .:]{0,3}"
    r"(?:(?:no|number|is|at)\b[ .:]{0,3}){0,2}"
)
# Forms of national identity numbers, by the module of stdnum that checks them.
_IDENTITIES: Final = {
    "es.dni": r"\d{8}-?[A-Z]",
    "es.nie": r"[XYZ]\d{7}-?[A-Z]",
    "it.codicefiscale": r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]",
    "br.cpf": r"\d{3}\.\d{3}\.\d{3}-\d\d",
    # The month also encodes the century.
    "pl.pesel": r"\d\d(?:[02468][1-9]|[13579][0-2])(?:0[1-9]|[12]\d|3[01])\d{5}",
    "se.personnummer": rf"(?:19|20)?{_DATE}[-+]\d{{4}}",
    "fi.hetu": r"(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d[-+A-F]\d{3}[\dA-Y]",
    "fr.nir": r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d\d ?\d{3} ?\d{3} ?\d\d",
    "be.nn": r"\d\d\.(?:0\d|1[0-2])\.[0-3]\d-\d{3}\.\d\d",
    "cn.ric": r"[1-6]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]",
    "in_.aadhaar": r"[2-9]\d{3}([ -])\d{4}\1\d{4}",
    "ca.sin": r"\d{3}-\d{3}-\d{3}",
    "us.ssn": r"\d{3}-\d\d-\d{4}",
    "gb.nhs": r"(?<=\bNHS\b\D{0,20})\d{3}[ -]?\d{3}[ -]?\d{4}",
}
FORMS: Final = (
    Form(
        PersonalData.EMAIL,
        regex.compile(
            r"(?<![\w.+%-])[\w+%-][\w.+%-]{0,63}"
            r"(?:@|\s?[(\[{]\s?at\s?[)\]}]\s?)"
            r"(?:[\w-]{1,63}(?:\.|\s?[(\[{]\s?dot\s?[)\]}]\s?)){1,8}\p{L}{2,24}(?![\w-])",
            regex.I,
        ),
        _email,
        as_written=True,
    ),
    _form(
        PersonalData.ACCOUNT,
        r"[A-Z]{2}\d\d(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,4})?",
        _valid("iban"),
    ),
    _form(PersonalData.CARD, rf"{_CARDS}(?:[ -]?\d){{11,17}}", _valid("luhn")),
    # With a country code, in the form of North America, or after a word such as "phone".
    _form(PersonalData.PHONE, rf"\+[1-9](?:\)?{_SEPARATED}\(?\d){{8,14}}", _phone, as_written=True),
    _form(
        PersonalData.PHONE,
        r"(?:1[ .-])?(?:\([2-9]\d\d\)[ -]?[2-9]\d\d[.-]|[2-9]\d\d(?:\.[2-9]\d\d\.|[ -][2-9]\d\d-))"
        r"\d{4}",
        _phone,
        as_written=True,
    ),
    _form(
        PersonalData.PHONE,
        rf"(?<={_ANNOUNCED})\(?\d(?:\)?[ ./-]?\(?\d){{6,14}}",
        _phone,
        as_written=True,
    ),
    *(
        _form(PersonalData.IDENTITY, pattern, _valid(name), as_written=True)
        for name, pattern in _IDENTITIES.items()
    ),
    _form(
        PersonalData.ADDRESS,
        r"(?<!version )(?<!release )(?<!section )(?<!\bv)(?:\d{1,3}\.){3}\d{1,3}",
        _network,
        as_written=True,
    ),
    Form(
        PersonalData.ADDRESS,
        regex.compile(r"(?<![\w:])(?:[\da-f]{1,4}:{1,2}){2,7}(?:[\da-f]{1,4})?(?![\w:])", regex.I),
        _network,
        as_written=True,
    ),
)


def personal_data(text: str) -> Iterator[Found]:
    """Find personal data, in no order, also with invisible characters and full-width digits."""
    plain = folded(text, as_written)
    places = origins(text, as_written) if plain != text else range(len(text))
    for form in FORMS:
        for match in form.pattern.finditer(plain):
            value = regex.sub(r"[^\p{L}\p{N}]+", "", match[0]).upper()
            if form.holds(match[0] if form.as_written else value):
                yield Found(form.kind, places[match.start()], places[match.end() - 1] + 1, value)
