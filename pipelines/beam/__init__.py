"""The Beam graph; the only package that imports apache_beam.

Beam loads pandas, pyarrow, the client of MongoDB, and for its own manager of models torch and
scipy, wherever they are installed. Nothing here uses them, and they cost seconds: Beam goes
without, as it does where they are missing.
"""

import sys
from typing import Final

_UNUSED: Final = ("bson", "pandas", "pyarrow", "apache_beam.ml.inference.model_manager")


def _load_beam() -> None:
    hidden = [name for name in _UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be found
    try:
        import apache_beam.ml.inference.base  # noqa: F401
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


_load_beam()
