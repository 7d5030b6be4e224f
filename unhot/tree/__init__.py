"""A word's probability as a product of a few choices: binary trees (paths) and nested classes (groups)."""
