"""The service: an endpoint for assistants, a console for people, tools for agents."""
