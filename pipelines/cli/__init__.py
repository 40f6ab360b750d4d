"""The command line: `radarstream COMMAND`."""
