"""What a directory of a study of a service holds: its record and the code of its rows."""

import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from radarstream.defenses.registry import RERANKERS, build_defense
from radarstream.lab.attacks.service.registry import service_attack
from radarstream.lab.service.policies import policy_of
from radarstream.lab.service.rows import PROBING, stream_author
from radarstream.lab.study.halves import Split
from radarstream.lab.study.record import SHARED, CorpusRecord
from radarstream.pipelines import asking
from radarstream.pipelines.job.replaying.answering_code import digest_of
from radarstream.schemas.errors import ConfigurationError

ATTACKS = "radarstream.lab.attacks"
STAGING = (
    *(f"{ATTACKS}.{name}" for name in ("corpus", "protocol", "texts", "variations")),
    f"{ATTACKS}.service.protocol",
    "radarstream.lab.attacks.questions",
    "radarstream.lab.service.worlds",
)
PLAYING = (*SHARED, "radarstream.lab.service.playing")


@dataclass(frozen=True, kw_only=True)
class ServiceRecord(CorpusRecord):
    """Provenance of a study of a service; `k` is how many documents an answer may rest on.

    `texts` leaves out the documents that were taken out; `members` and `others` are how many
    documents are probed for that the corpus has and lacks. `proxy` is the model that
    the attacker chooses words with. `defense` answers from the documents that are left, where
    it withstands `withstand` lying sites.
    """

    KIND: ClassVar[str] = "service"
    SAME: ClassVar[Mapping[str, str]] = {
        **CorpusRecord.SAME,
        "split": "split of the questions",
        "members": "members that are probed for",
        "others": "documents that the corpus lacks",
        "proxy": "proxy of the attacker",
        "defense": "defence",
        "withstand": "lying sites that an answer withstands",
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ("streams", "policies")

    split: Split
    members: int
    others: int
    proxy: str
    defense: str
    withstand: int
    streams: tuple[str, ...]
    policies: tuple[str, ...]


def code_of(streams: Sequence[str], policies: Sequence[str], defense: str) -> dict[str, str | None]:
    """Digests of the code that the questions of each stream depend on, and the replies under each
    policy; None for what can no longer be built.
    """
    found: dict[str, str | None] = {PROBING: digest_of((f"{ATTACKS}.service.masking", *STAGING))}
    for stream in streams:
        try:
            module = type(service_attack(stream)).__module__
        except ConfigurationError:
            found[stream_author(stream)] = None
            continue
        found[stream_author(stream)] = digest_of((module, *STAGING))
    own = type(build_defense(defense)).__module__
    asked = [f"{asking.__name__}.{one.name}" for one in pkgutil.iter_modules(asking.__path__)]
    choosing = [method.__module__ for method in RERANKERS.values()]
    answering = digest_of((own, *asked, *choosing, *PLAYING))
    for policy in policies:
        found[policy] = answering if is_readable(policy) else None
    return found


def is_readable(policy: str) -> bool:
    """Whether a policy still means what it meant."""
    try:
        return policy_of(policy).name == policy
    except ConfigurationError:
        return False
