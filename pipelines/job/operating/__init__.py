"""What operators do to a running system: from the command line and from the console."""
