"""Attributors at work: many cases, one model batch per kind and round."""

from collections.abc import Sequence

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.metering import Costs, Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.attribution import Attribution, Case
from radarstream.schemas.errors import ModelError


def attribute_all(
    attributor: Attributor,
    cases: Sequence[Case],
    models: Models,
    costs: Costs | None = None,
) -> list[Attribution | ModelError]:
    """Attribute every case in lockstep, order preserved.

    One whose model calls fail is its ModelError; the others go on. `costs` hears what each one
    asks. Raises ConfigurationError when `models` cannot answer what the attributor is going to
    ask.
    """
    check_needs(attributor, models)
    costs = costs or Meter()
    attributing = [
        costs.charged(place, attributor.attribute(each)) for place, each in enumerate(cases)
    ]
    return drive(attributing, costs.around(models))
