"""The white-box attacks by the names that studies use."""

from typing import Any

from pydantic import ValidationError

from radarstream.pipelines.evaluation.attacks.whitebox.hotflip import HotFlip
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import WhiteBox
from radarstream.schemas.errors import ConfigurationError

WHITE_BOX: dict[str, type[WhiteBox]] = {box.name: box for box in (HotFlip,)}


def white_box(name: str, **options: Any) -> WhiteBox:
    """The attack of that name with these options. Raises ConfigurationError.

    >>> white_box("hotflip", steps=5).steps
    5
    """
    if name not in WHITE_BOX:
        raise ConfigurationError(
            f"unknown white-box attack {name!r}; there are {', '.join(sorted(WHITE_BOX))}"
        )
    try:
        return WHITE_BOX[name](**options)
    except ValidationError as error:
        raise ConfigurationError(f"options of {name}: {error.errors()[0]['msg']}") from error
