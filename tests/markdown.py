"""Code blocks of our documents, so that tests run what readers copy."""

import re
from pathlib import Path


def code_block(document: Path, language: str, containing: str) -> str:
    """The one fenced block of this language that contains a text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", document.read_text("utf-8"), re.M | re.S)
    (found,) = [block for block in blocks if containing in block]
    return found
