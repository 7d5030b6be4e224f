"""Phrases: neighbouring words that belong together become one word, before any model sees them."""

from unhot.corpus.phrases.phrases import Phrases

__all__ = ["Phrases"]
