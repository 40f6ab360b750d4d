"""The tokens of replies, whatever tokenizer a model has."""

from collections.abc import Callable

from radarstream.schemas.errors import ModelError

Tokenize = Callable[[str], list[int]]


def continuation_tokens(text: str, tokenize: Tokenize, *, is_chat: bool = False) -> list[int]:
    """A reply's tokens as they would follow a prompt. Raises ModelError when there is none.

    After a completion prompt, which ends in a colon, the reply begins with a space; tokenizers
    that put a space before every text would make that two, so the colon is tokenized with it.
    """
    tokens = tokenize(text) if is_chat else tokens_behind(f" {text}", tokenize)
    if not text.strip() or not tokens:
        raise ModelError("a continuation without a token has no probability")
    return tokens


def tokens_behind(text: str, tokenize: Tokenize) -> list[int]:
    """A text's tokens as they follow another text, with no space but its own."""
    before, joined = tokenize(":"), tokenize(f":{text}")
    return joined[len(before) :] if joined[: len(before)] == before else tokenize(text)
