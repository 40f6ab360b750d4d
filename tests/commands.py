"""Commands in the process of the test, as somebody types them."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest
from typer.testing import CliRunner, Result

from radarstream.pipelines import build
from radarstream.pipelines.cli.app import app, main


def forget_shared() -> None:
    """Open database and models anew, as another process would."""
    for cached in (build._pipeline, build._corpus, build._engine):
        cached.cache_clear()


def run(*arguments: object, exit_code: int = 0, answer: str | bytes = "") -> Result:
    """A command that ends with this exit code; `answer` is typed where it asks."""
    forget_shared()
    words = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["radarstream", *words])
        result = CliRunner().invoke(app, words, input=answer)
    assert result.exit_code == exit_code, (result.output, result.exception)
    return result


def refused(*arguments: object) -> tuple[int, str]:
    """Exit code and error output of a command that fails through the entry point."""
    forget_shared()
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["radarstream", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert "Traceback" not in out.getvalue() + err.getvalue()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, err.getvalue()
