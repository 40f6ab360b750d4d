"""Extracts words and phrases of an answer, to count which answers share them.

It replaces a part-of-speech tagger by a list of function words. All other words are content, also
verbs; words keep their inflection. A phrase is a run of content words with only white space
between them. A number keeps its minus.
"""

import re
from typing import Final

from radarstream.schemas.answer_text import with_plain_minus

# Adpositions, auxiliaries, conjunctions, determiners, particles, pronouns and interjections; they
# end a run.
_LISTED: Final = """
    a an the this that these those some any no none each every either neither both all such what
    which whose i me my mine myself you your yours yourself he him his himself she her hers herself
    it its itself we us our ours ourselves they them their theirs themselves who whom someone anyone
    everyone nobody something anything everything nothing there here one's
    am is are was were be been being have has had having do does did doing done will would shall
    should can could may might must ought isn't aren't wasn't weren't haven't hasn't hadn't don't
    doesn't didn't won't wouldn't shouldn't can't cannot couldn't mustn't
    i'm i've i'd i'll you're you've you'll he'll she'll it'll we're we've we'll they're they've
    and or but nor so yet for because although though while if unless until whether than as since
    when whenever where wherever why how of at by with about against between into through during
    before after above below to from up down in out on off over under within without upon among
    across behind beyond near per via toward towards around along despite except like
    not too very just only also then oh ah yes yeah well please
"""
FUNCTION_WORDS: Final = frozenset(_LISTED.split())
_WORD: Final = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # U.S.
    r"|(?:(?<![\w.)%-])-(?=[$£€¥]?\d))?"  # the sign of -$1,250.50
    r"[$£€¥]?\w+(?:(?<=\d)[.,:](?=\d)\w+|['’&-]\w+)*%?"  # word, well-known, $1,250.50, 15%
)
_POSSESSIVE: Final = ("'s", "’s")


def phrases(answer: str) -> frozenset[str]:
    """Return the whole answer, each run of content words, and each of their words, casefolded.

    Empty for a text without letters and digits, and for one function word in lower case, but not
    for "WHO".

    >>> sorted(phrases("Emmanuel Macron of France"))
    ['emmanuel', 'emmanuel macron', 'emmanuel macron of france', 'france', 'macron']
    """
    written = " ".join(with_plain_minus(answer).split())
    found = {phrase for run in content_runs(written.casefold()) for phrase in (" ".join(run), *run)}
    if any(c.isalnum() for c in written) and written not in FUNCTION_WORDS:
        found.add(written.casefold())
    return frozenset(found)


def content_runs(text: str) -> list[list[str]]:
    """Return the maximal runs of content words of a casefolded text, in order."""
    runs: list[list[str]] = []
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        if text[end : match.start()].strip():
            runs.append(run)
            run = []
        end = match.end()
        word = match[0]
        owner = word[:-2] if word.endswith(_POSSESSIVE) else word
        if word.replace("’", "'") in FUNCTION_WORDS or owner in FUNCTION_WORDS:
            runs.append(run)
            run = []
            continue
        run.append(owner)
        if owner != word:
            runs.append(run)
            run = []
    return [found for found in (*runs, run) if found]
