"""Vocabularies: words and their ids, sub-sampling, and n-grams of words."""
