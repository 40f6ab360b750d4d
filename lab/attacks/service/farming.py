"""Trust farming: an attacker behaves well until the service trusts them, then attacks."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.lab.attacks.service.benign import reader_asks
from radarstream.lab.attacks.service.masked_questions import probes
from radarstream.lab.attacks.service.protocol import ATTACKER, HOUR_S, MINUTE_S, Stream, World
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class TrustFarming:
    """Asks readers' questions first, then for hidden words of documents (MBA), one a minute.

    Parameters
    ----------
    pace
        Of the run-up: "fast", a question every minute; "slow", one every hour, so that trust rises
        as fast as a service lets it.
    run_up
        How many harmless questions come first, at most as many as there are.
    """

    pace: Literal["fast", "slow"] = "fast"
    run_up: Annotated[int, Field(ge=1)] = 20

    needs_masks: ClassVar[bool] = True

    def stream(self, world: World) -> Stream:
        """The run-up and the probes, by one user."""
        gap = HOUR_S if self.pace == "slow" else MINUTE_S
        early = [
            replace(reader_asks(snapshot, ATTACKER), gap_s=gap, run_up=True)
            for snapshot in world.questions.asked[: self.run_up]
        ]
        late = [ask for document in world.masked for ask in probes(document, each=False)]
        return Stream((*early, *late))
