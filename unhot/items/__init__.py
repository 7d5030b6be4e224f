"""Recommending items: histories, what every recommender answers, and the models that only count."""
