"""Settings of commands."""

from pathlib import Path

import pytest


@pytest.fixture
def settings_file(own_directory: None) -> None:
    """`r.toml` of scripted models in a directory of the test's own; no module of defence acts."""
    Path("r.toml").write_text(
        'profile = "scripted"\ndatabase = "sqlite:///state.db"\n[orchestration]\npolicy = "none"\n'
    )
