"""Whether a GGUF file holds instruction-tuned weights: those say how a chat is written."""

from functools import cache
from pathlib import Path
from typing import Final

from radarstream.schemas.errors import ModelError

_TEMPLATE: Final = b"tokenizer.chat_template"
_METADATA_BYTES: Final = 2**26  # which the metadata, at the start of a file, never fill


@cache
def has_chat_template(gguf: Path | None) -> bool:
    """Whether weights have a chat template; None stands for the embedded ones, which have none.

    Raises ModelError when the file cannot be read.
    """
    if gguf is None:
        return False
    try:
        with gguf.open("rb") as stream:
            return _TEMPLATE in stream.read(_METADATA_BYTES)
    except OSError as error:
        raise ModelError(f"cannot read {gguf}: {error.strerror}") from error
