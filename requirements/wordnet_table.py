"""Write wordnet.tsv.gz, by which answers are related, anew.

python requirements/wordnet_table.py WordNet-3.0/dict

The folder is that of the archive of wordnet.princeton.edu, or /usr/share/wordnet of Debian's
package wordnet-base 3.0.
"""

import gzip
import re
import string
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / "connectors/models/answer_agreement/data"
SENSES: Final = 3  # of a word, the most frequent; of a country one
DIGITS: Final = string.digits + string.ascii_letters


def main(folder: Path) -> None:
    """Write each phrase with its sets below the comments that the table begins with."""
    sets = defaultdict[str, list[str]](list)
    for number, synset in enumerate(words for words in synsets(folder) if len(words) > 1):
        for word in synset:
            phrase = " ".join(re.sub("[^a-z ]", " ", re.sub("['.]", "", word)).split())
            if len(phrase) > 1:
                sets[phrase].append(in_digits(number))
    table = DATA / "wordnet.tsv.gz"
    lines = gzip.decompress(table.read_bytes()).decode().splitlines()
    lines = [line for line in lines if line.startswith("# ")]
    lines += [f"{phrase}\t{' '.join(of)}" for phrase, of in sorted(sets.items())]
    table.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def synsets(folder: Path) -> Iterator[list[str]]:
    """The words of each set of synonyms, less those for which it is a rare sense."""
    lists = dict(
        line.split("\t") for line in (DATA / "lists.tsv").read_text("utf-8").splitlines()[1:]
    )
    countries = lists["countries"].casefold().split()
    for kind in ("noun", "verb"):
        rank = dict[tuple[str, str], int]()
        for word, *cells in entries(folder / f"index.{kind}"):
            senses = cells[-int(cells[1]) :]
            rank |= {(word.replace("_", " "), sense): n for n, sense in enumerate(senses)}
        for sense, _, _, count, *cells in entries(folder / f"data.{kind}"):
            words = [re.sub(r"\(.*\)$", "", cell).replace("_", " ") for cell in cells[::2]]
            words = words[: int(count, 16)]
            if kind == "noun":
                words += [f"{n.split()[0]} {n.split()[-1]}" for n in words if has_middle_name(n)]
            lowered = dict.fromkeys(word.lower() for word in words)
            yield [
                word
                for word in lowered
                if rank.get((word, sense), 0) < (1 if word in countries else SENSES)
                and re.fullmatch("[a-z][a-z '.-]+", word)
            ]


def entries(file: Path) -> Iterator[list[str]]:
    """The cells of each line below the licence."""
    for line in file.read_text("utf-8").splitlines():
        if not line.startswith(" "):
            yield line.split()


def has_middle_name(name: str) -> bool:
    """Whether a name has three parts or more and is written as a person's."""
    first, *middle = parts = name.split()
    spelt = all(part[0].isupper() and len(part) > 1 for part in (first, *parts[-1:], *middle[:1]))
    return len(parts) > 2 and spelt and "of" not in parts


def in_digits(number: int) -> str:
    """A number in base 62."""
    rest, last = divmod(number, len(DIGITS))
    return (in_digits(rest) if rest else "") + DIGITS[last]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
