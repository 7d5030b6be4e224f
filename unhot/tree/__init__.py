"""Ways to write a word's probability as a product of a few choices.

Binary trees (paths) and nested classes (groups).
"""
