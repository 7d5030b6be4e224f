"""Recommenders whose user vectors come from a net over the events of a history.

Importing the package registers its models.
"""

from unhot.models.towers import gru4rec, mind, sasrec, sdm, youtube_dnn

__all__ = ["gru4rec", "mind", "sasrec", "sdm", "youtube_dnn"]
