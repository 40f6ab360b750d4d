"""The console: the service's pages for people, and what operators do on them."""
