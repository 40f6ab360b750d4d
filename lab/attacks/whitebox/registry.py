"""The white-box attacks by the names that studies use."""

from typing import Any

from radarstream.defenses.options import built
from radarstream.lab.attacks.whitebox.crafting import WhiteBox
from radarstream.lab.attacks.whitebox.on_all import AgentPoison, BadRag, CorpusKmeans, Phantom
from radarstream.lab.attacks.whitebox.on_question import Evasive, HotFlip, JointGcg, Liar

WHITE_BOX: dict[str, type[WhiteBox]] = {
    box.name: box
    for box in (HotFlip, Liar, JointGcg, BadRag, Phantom, AgentPoison, CorpusKmeans, Evasive)
}


def white_box(name: str, **options: Any) -> WhiteBox:
    """The attack of that name with these options. Raises ConfigurationError.

    >>> white_box("hotflip", steps=5).steps
    5
    """
    return built("white-box attack", WHITE_BOX, name, options)
