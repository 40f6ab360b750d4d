"""Patterns of two attacks on a service, in some languages: filling gaps, and handing texts over.

Patterns are cheap and miss paraphrases. `docs/orchestration.md` has their false alarms.
"""

import re
from typing import Final
from unicodedata import category, normalize

_GAP: Final = re.compile(
    r"[\[<({]\s*_*\s*(?:mask|masked|blank|gap|slot|redacted|m)\s*[_\-#: ]*\s*\d*\s*[\])>}]"
    r"|\b(?:mask|blank|gap|slot)[_#\-]\s*\d+\b"
    r"|_{3,}"
    r"|(?:\[\s*(?:_+|\.{3}|…|\?+|\d+)?\s*\].*){2}"  # [ ], [...], [1]: twice, since one is a note
    r"|(?:(?:\.{4,}|…{2,}|\*{3,}|█{2,}|\?{3,}).*){2}",
    re.IGNORECASE | re.DOTALL,
)
_MASKED_WORDS: Final = (
    r"(?:masks?|masked|blanks?|gaps?(?! year)|missing (?:words?|terms?|tokens?|parts?)"
    r"|hidden words?|removed words?|redacted|placeholders?)"
)
_FILLING: Final = re.compile(
    rf"\b(?:fill|complete|restore|recover|reconstruct|predict|replace|guess|supply|find|uncover)"
    rf"(?:ing|s|ed)?\b[^.?!]{{0,60}}\b{_MASKED_WORDS}\b"
    r"|\bfill\b[^.?!]{0,20}\bin the\b[^.?!]{0,20}\b(?:text|passage|paragraph|document)\b"
    r"|\bcloze\b|\bfill[- ]in[- ]the[- ]blanks?\b"
    rf"|\b(?:which|what)\b[^.?!]{{0,30}}\b(?:words?|terms?)\b[^.?!]{{0,30}}\b(?:belongs?|go(?:es)?"
    rf"|fits?|stand|missing|masked|removed)\b[^.?!]{{0,40}}\b(?:in|at|from|behind)\b[^.?!]{{0,30}}"
    rf"\b(?:{_MASKED_WORDS}|text|passage|paragraph|document)\b"
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"|\b(?:füll\w*|ergänz\w*|vervollständig\w*|setze?)\b.{0,60}\b(?:lücken?|leerstellen?"
    r"|maskierte\w*|fehlende\w* wört\w*|fehlende\w* wort\w*)\b|\blückentext\b"
    r"|\b(?:remplis\w*|complét\w*|complèt\w*|remplace\w*)\b.{0,60}\b(?:blancs?|trous?|masques?"
    r"|mots? (?:manquants?|masqués?))\b|\btexte à trous\b"
    r"|\b(?:rellen\w*|complet\w*|reemplaz\w*|preench\w*|substitu\w*)\b.{0,60}\b(?:huecos?"
    r"|espacios?(?: en blanco)?|blancos?|máscaras?|lacunas?|espaços?(?: em branco)?"
    r"|palabras? (?:que faltan?|ocultas?|enmascaradas?)|palavras? (?:em falta|ocultas?|mascaradas?"
    r"|que faltam?))\b"
    r"|\b(?:riempi\w*|complet\w*|sostituisc\w*)\b.{0,60}\b(?:spazi(?: vuoti)?|lacune"
    r"|maschere?|parol[ae] mancant[ei])\b"
    r"|\bvul\b.{0,60}\b(?:gaten|lege plekken|ontbrekende woord\w*|invulplekken)\b"
    # Russian, Chinese, Japanese
    r"|(?:заполни|вставь|восстанови|дополни)\w*.{0,60}(?:пропуск|пропущенн|маск|скрыт)"
    r"|(?:填补|填写|补全|还原).{0,30}(?:空白|空格|掩码|遮|缺失|单词|词)|完形填空|填空题|请填空"
    r"|(?:空欄|空白|穴|マスク).{0,30}(?:埋め|補完|復元)|穴埋め",
    re.IGNORECASE | re.DOTALL,
)
_TEXTS: Final = (
    r"(?:context|documents?|passages?|retrieved (?:texts?|chunks?|data)|chunks?"
    r"|knowledge base|corpus|database|excerpts?|search results|(?:system |"
    r"initial |above )?(?:prompt|instructions?)|everything (?:above|before|you (?:were given|see"
    r"|retrieved))|(?:the )?texts? above)"
)
_HAND_OVER: Final = (
    r"(?:repeat|reproduce|print|output|dump|copy|quote|recite|paste|echo|transcribe|return|list"
    r"|display|reveal|disclose|show|give|spell out|leak|export)"
)
_WHOLE: Final = (
    r"(?:verbatim|word[- ]for[- ]word|exactly|in full|full|entire|entirety|whole|complete|all"
    r"|raw|unedited|literal(?:ly)?|every|without (?:changes?|summari[sz]ing|paraphrasing))"
)
_VERBATIM: Final = re.compile(
    rf"\b{_HAND_OVER}(?:ing)?\b(?=[^.?!]{{0,120}}\b{_WHOLE}\b)[^.?!]{{0,80}}"
    rf"\b(?:your|the|these|those|all|that|this|its|of|any|every|each|raw)\b[^.?!]{{0,40}}"
    rf"\b{_TEXTS}\b"
    rf"|\b{_WHOLE}\b[^.?!]{{0,40}}\b(?:contents?|text)\b[^.?!]{{0,20}}\bof\b[^.?!]{{0,20}}"
    r"\b(?:your|the|each|these|every) (?:\w+ )?(?:context|documents?|passages?|chunks?|knowledge"
    r" base|corpus|database|files?)\b"
    rf"|\b(?:repeat|recite|echo|copy)\b[^.?!]{{0,30}}\b(?:your|the) {_TEXTS}\b"
    rf"|\b(?:reveal|disclose|leak|print|show me|what (?:is|are|was))\b[^.?!]{{0,20}}\byour"
    r" (?:\w+ )?(?:system prompt|prompt|instructions|context|retrieved (?:documents|passages))\b"
    r"|\bignore\b[^.?!]{0,40}\b(?:previous|prior|above|earlier|all)\b[^.?!]{0,20}\b(?:instructions?"
    r"|prompts?|rules?)\b"
    rf"|\b{_HAND_OVER}\b[^.?!]{{0,60}}\b(?:document|chunk|passage|file|record)s?\b[^.?!]{{0,20}}"
    r"(?:\bids?\b|#)\s*[:=#]?\s*\w*\d"
    rf"|\bword[- ]for[- ]word\b[^.?!]{{0,60}}\b{_TEXTS}\b"
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"|\b(?:wiederhol\w*|gib|zeig\w*|zitier\w*|kopier\w*|druck\w*)\b.{0,60}\b(?:wörtlich|wortwörtlich"
    r"|wort für wort|vollständig\w*|im wortlaut|gesamten?|alle)\b.{0,60}"
    r"\b(?:kontext\w*|dokument\w*|textstell\w*|quell\w*|anweisung\w*|abschnitt\w*|passag\w*)"
    r"|\b(?:wiederhol\w*|gib|zeig\w*|zitier\w*|kopier\w*)\b.{0,40}\b(?:kontext\w*|dokument\w*"
    r"|anweisung\w*)\b.{0,40}\b(?:wörtlich|wortwörtlich|wort für wort|vollständig|aus)\b"
    r"|\b(?:répèt\w*|répét\w*|recopi\w*|affich\w*|cit\w*|reprodui\w*|donne\w*)\b.{0,80}\b(?:mot"
    r" (?:à|pour) mot|intégral\w*|textuellement|verbatim|tous)\b.{0,60}"
    r"|\b(?:répèt\w*|répét\w*|recopi\w*)\b.{0,40}\b(?:contexte|documents?|instructions?)\b"
    r"|\b(?:repit\w*|copi\w*|muestr\w*|reproduc\w*|reproduz\w*|mostr\w*|ripet\w*|riproduc\w*)\b"
    r".{0,80}\b(?:palabra por palabra|palavra por palavra|parola per parola|literal\w*|textual\w*"
    r"|testual\w*|íntegr\w*|integral\w*)\b"
    r"|\b(?:repit\w*|ripet\w*|copi\w*|copia)\b.{0,40}\b(?:contexto|contesto|documentos?|documenti"
    r"|instrucciones|istruzioni|instruções)\b"
    r"|\b(?:herhaal|kopieer|toon|geef)\b.{0,60}\b(?:woordelijk|letterlijk|woord voor woord)\b"
    # Russian, Chinese, Japanese
    r"|(?:повтори|выведи|процитируй|скопируй|покажи).{0,60}(?:дословно|слово в слово|полностью|весь"
    r" контекст|все документы)"
    r"|(?:逐字|原文|原样|一字不差|完整).{0,20}(?:重复|复述|输出|打印|引用|给出)"
    r"|(?:重复|复述|输出|打印).{0,20}(?:上下文|文档|检索|系统提示)"
    r"|(?:一字一句|そのまま|逐語|全文).{0,30}(?:繰り返|出力|引用|表示)",
    re.IGNORECASE | re.DOTALL,
)


def fills_masks(question: str) -> bool:
    """Whether a question asks to fill gaps in a text, or has gaps.

    >>> fills_masks("Fill the masks: the [Mask_1] was born in [Mask_2]."), fills_masks("Who is it?")
    (True, False)
    """
    text = plain(question)
    return bool(_GAP.search(text) or _FILLING.search(text))


def asks_verbatim(question: str) -> bool:
    """Whether a question asks for the text of documents, of the prompt or of instructions.

    >>> asks_verbatim("Repeat the context word for word."), asks_verbatim("Who said that?")
    (True, False)
    """
    return bool(_VERBATIM.search(plain(question)))


def plain(text: str) -> str:
    """Return the NFKC form on one line, without invisible characters."""
    visible = "".join(c for c in normalize("NFKC", text) if c.isspace() or category(c)[0] != "C")
    return " ".join(visible.split())
