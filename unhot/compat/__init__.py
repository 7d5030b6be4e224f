"""Fronts with the names of other libraries, so that a script changes its imports and nothing else."""
