"""The database itself: its tables, opening, migrating, copying and inspecting it."""
