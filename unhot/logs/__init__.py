"""Logs of users and items: anything to events, events to sessions and splits."""
