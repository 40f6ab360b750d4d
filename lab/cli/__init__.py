"""The commands of the lab. A module has the name of its command."""

PANEL = "Study (the lab)"
COMMANDS = {
    "simulate": "Write a yearly search history about questions whose answers really changed.",
    "evaluate": "Compare defences (or retrieval, attribution, service) under attacks.",
    "report": "Write the report of a replay or a study again.",
}
