"""`radarstream` and `python -m radarstream`: the command."""

from radarstream.pipelines.cli.ending import take_signals


def main() -> None:
    """Handle signals from the start, then import the command line and run it."""
    take_signals()
    from radarstream.pipelines.cli.app import main as command

    command()


if __name__ == "__main__":
    main()
