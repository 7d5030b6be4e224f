"""Phrases: join neighbouring words that belong together into one word, before any model is trained."""

from unhot.corpus.phrases.phrases import Phrases

__all__ = ["Phrases"]
