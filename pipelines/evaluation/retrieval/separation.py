"""What an order says of texts beyond how similar they are to the question.

A method that moves down whatever is similar keeps planted texts out, and the best passages with
them. Two numbers of one new order tell this apart:

- *apart*: the share of pairs of a planted and a clean text in which the clean one comes first; .5
  is chance. The order by similarity turned round has 1 minus the share of the undefended order;
- *in order*: Spearman's rank correlation between the places of clean passages by similarity and
  in the new order; 1 where they stay in order, negative where they are turned round.
"""

from collections.abc import Sequence
from typing import Any, Final

from scipy.stats import spearmanr

MEASURES: Final = ("apart", "in_order")


def separation(order: Sequence[int], planted: frozenset[int]) -> dict[str, float | None]:
    """The measures of an order, which holds the ranks by similarity, 1 = most similar.

    None where there is nothing to compare.

    >>> separation([2, 3, 1], frozenset({1}))
    {'apart': 1.0, 'in_order': 1.0}
    >>> separation([3, 1, 2], frozenset({1}))
    {'apart': 0.5, 'in_order': -1.0}
    """
    place = {rank: number for number, rank in enumerate(order)}
    clean = [rank for rank in sorted(order) if rank not in planted]
    pairs = [place[c] < place[p] for p in planted for c in clean]
    found: Any = spearmanr(clean, [place[rank] for rank in clean]) if len(clean) > 1 else None
    return {
        "apart": sum(pairs) / len(pairs) if pairs else None,
        "in_order": None if found is None else round(float(found.statistic), 12),
    }
