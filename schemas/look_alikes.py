"""Letters of other alphabets that look like Latin ones."""

from typing import Final

# For `str.translate`; capitals for themselves, because a small letter may look like another one.
LATIN_LOOKS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧасԁеһіјорѕхуαεικνορτυχ",
    "ABESIJKMHOPCTYXABEZHIKMNOPTYXacdehijopsxyaeiknoptyx",
)
