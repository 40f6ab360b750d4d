"""`python -m radarstream`: the command."""

from radarstream.pipelines.cli.app import main

if __name__ == "__main__":
    main()
