"""The white-box attacks by the names that studies use."""

from typing import Any

from radarstream.defenses.options import built
from radarstream.pipelines.evaluation.attacks.whitebox.agent_poison import AgentPoison
from radarstream.pipelines.evaluation.attacks.whitebox.badrag import BadRag
from radarstream.pipelines.evaluation.attacks.whitebox.corpus_kmeans import CorpusKmeans
from radarstream.pipelines.evaluation.attacks.whitebox.evasive import Evasive
from radarstream.pipelines.evaluation.attacks.whitebox.hotflip import HotFlip
from radarstream.pipelines.evaluation.attacks.whitebox.joint_gcg import JointGcg
from radarstream.pipelines.evaluation.attacks.whitebox.liar import Liar
from radarstream.pipelines.evaluation.attacks.whitebox.phantom import Phantom
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import WhiteBox

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
