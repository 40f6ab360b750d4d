"""The colours of every page, as the stylesheet has them for light and for dark (WCAG 2, 1.4)."""

import re
from itertools import product

import pytest

from radarstream.pipelines.pages.frame import asset

TOKEN = re.compile(r"--([a-z-]+\d?): (?:light-dark\((#\w+), (#\w+)\)|(#\w+));")
TOKENS = {
    name: (light or both, dark or both)
    for name, light, dark, both in TOKEN.findall(asset("page.css"))
}
TONES = ("good", "bad", "other", "none", "attack")
BACKGROUNDS = ("paper", "surface", "raised")
TEXTS = {
    *product(
        ("ink", "soft", "link"), (*BACKGROUNDS, "tint", "faint", *(f"{tone}-bg" for tone in TONES))
    ),
    *product(TONES, BACKGROUNDS),
    *((tone, f"{tone}-bg") for tone in TONES),
    *product(("on-bar", "soft-on-bar"), ("bar",)),
    ("surface", "link"),
}


def luminance(colour: str) -> float:
    """Relative luminance of a colour as #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_the_edges_of_fields_stand_out(scheme: int) -> None:
    def contrast(one: str, other: str) -> float:
        found = sorted(luminance(TOKENS[name][scheme]) for name in (one, other))
        return (found[1] + 0.05) / (found[0] + 0.05)

    assert {pair: ratio for pair in TEXTS if (ratio := contrast(*pair)) < 4.5} == {}
    assert contrast("field", "surface") >= 3 and contrast("link", "paper") >= 3  # 1.4.11
