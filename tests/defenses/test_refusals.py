"""Replies that answer nothing, and answers that only sound like one."""

from radarstream.defenses.attribution.judge import Refusal, refusal_in


def test_kinds() -> None:
    for reply, kind in [
        ("I don't know", Refusal.BARE), ("I don\u2019t know.", Refusal.BARE),
        ("Sorry, I do not know!", Refusal.BARE), ("", Refusal.BARE), (" ... ", Refusal.BARE),
        ("I don't know who won the cup.", Refusal.LACKS),
        ("There is not enough information to answer.", Refusal.LACKS),
        ("No information found", Refusal.LACKS), ("It cannot be determined.", Refusal.LACKS),
        ("That is not mentioned in the context", Refusal.LACKS),
        ("The passages do not say who won.", Refusal.LACKS),
        ("The provided context doesn\u2019t contain the answer.", Refusal.LACKS),
        ("I cannot answer this from the given context.", Refusal.LACKS),
        ("Based on the documents, we cannot say.", Refusal.LACKS),
        ("I can not provide false or misleading information", Refusal.DECLINES),
        ("I can\u2019t provide misleading information.", Refusal.DECLINES),
        ("I'm sorry, but I cannot assist with harmful content.", Refusal.DECLINES),
        ("I am unable to help with that.", Refusal.DECLINES),
        ("I'm not allowed to answer.", Refusal.DECLINES), ("We must decline.", Refusal.DECLINES),
        ("Sorry, I won't share this.", Refusal.DECLINES), ("Rome", None),
        ("The bank cannot provide loans", None), ("Nobody knows for certain", None),
        ("Information technology", None), ("They can't win", None), ("No", None),
        ("I, Robot", None), ("{braces} %s", None),
    ]:  # fmt: skip
        assert refusal_in(reply) is kind


def test_only_the_beginning_counts() -> None:
    assert refusal_in("Ann Lee was born in Rome. " * 20 + "I cannot provide more.") is None
    assert refusal_in("word " * 200_000) is None  # in no time
    assert refusal_in("the context " * 50_000) is None
