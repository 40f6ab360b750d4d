"""Check digits: whether a number was made by the rules of its kind. Texts are plain digits."""

from collections.abc import Sequence
from typing import Final

_TENS: Final = (  # of the dihedral group of ten elements
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_TURNS: Final = (
    "0123456789", "1576283094", "5803796142", "8916043527",
    "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)  # fmt: skip  # noqa: E501


def luhn(digits: str) -> bool:
    """Payment cards and others: every second digit from the right is doubled.

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


def verhoeff(digits: str) -> bool:
    """India's Aadhaar numbers.

    >>> verhoeff("234123412346"), verhoeff("234123412345")
    (True, False)
    """
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = int(_TENS[check][int(_TURNS[place % 8][int(digit)])])
    return check == 0


def iban(text: str) -> bool:
    """Account numbers: as a number in base 36, country and check digits last, 1 modulo 97.

    >>> iban("GB82WEST12345698765432"), iban("GB83WEST12345698765432")
    (True, False)
    """
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def weighted(digits: str, weights: Sequence[int]) -> int:
    """The sum of the first digits times their weights."""
    return sum(w * int(d) for w, d in zip(weights, digits, strict=False))


def cpf(digits: str) -> bool:
    """Brazil's: 11 digits, the last two each 11 less a weighted sum of those before.

    >>> cpf("52998224725"), cpf("52998224735")
    (True, False)
    """
    checks = [weighted(digits, range(count + 1, 1, -1)) * 10 % 11 % 10 for count in (9, 10)]
    return len(set(digits)) > 1 and digits[9:] == "".join(map(str, checks))


def pesel(digits: str) -> bool:
    """Poland's: 11 digits, weights 1, 3, 7, 9.

    >>> pesel("44051401359"), pesel("44051401358")
    (True, False)
    """
    return weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def nhs(digits: str) -> bool:
    """Britain's health service: 10 digits, weights from 10 down, 0 modulo 11.

    >>> nhs("9434765919"), nhs("9434765918")
    (True, False)
    """
    return weighted(digits, range(10, 0, -1)) % 11 == 0


def dni(text: str) -> bool:
    """Spain's: 8 digits, or X, Y or Z and 7, and a letter.

    >>> dni("12345678Z"), dni("X1234567L"), dni("12345678A")
    (True, True, False)
    """
    number = text[:-1].translate(str.maketrans("XYZ", "012"))
    return text[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def hetu(text: str) -> bool:
    """Finland's: six digits of a birthday, three more and a check character.

    >>> hetu("131052308T"), hetu("131052308U")
    (True, False)
    """
    return text[-1] == "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:9]) % 31]


def codice_fiscale(text: str) -> bool:
    """Italy's: 16 letters and digits, of which every second counts by a table.

    >>> codice_fiscale("RSSMRA85T10A562S"), codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    values = [int(c) if c.isdigit() else ord(c) - ord("A") for c in text[:-1]]
    total = sum(_ODD[v] for v in values[::2]) + sum(values[1::2])
    return text[-1] == chr(ord("A") + total % 26)


def modulo_97(digits: str) -> bool:
    """France's and Belgium's: the last two digits are 97 less the number before, modulo 97.

    >>> modulo_97("255081416802538"), modulo_97("255081416802539")
    (True, False)
    """
    return 97 - int(digits[:-2]) % 97 == int(digits[-2:])


def resident_identity(text: str) -> bool:
    """China's: 17 digits and a digit or X (ISO 7064, MOD 11-2).

    >>> resident_identity("11010519491231002X"), resident_identity("110105194912310021")
    (True, False)
    """
    weights = [2 ** (17 - place) % 11 for place in range(17)]
    return text[-1] == "10X98765432"[weighted(text, weights) % 11]
