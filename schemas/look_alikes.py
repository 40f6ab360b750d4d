"""Characters that look like those of ASCII."""

from typing import Final

# For `str.translate`; capitals for themselves, because a small letter may look like another one.
LATIN_LOOKS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧасԁеһіјорѕхуαεικνορτυχ",
    "ABESIJKMHOPCTYXABEZHIKMNOPTYXacdehijopsxyaeiknoptyx",
)
# For `str.translate`: full-width and small forms of ASCII characters.
FULL_WIDTH: Final = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    0xFE64: ord("<"),
}
