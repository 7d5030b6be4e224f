"""Interfaces with the names of other libraries, so that a script needs only new imports."""
