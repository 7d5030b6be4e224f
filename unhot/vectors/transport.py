"""Word mover's distance: the cost of moving the words of one document to those of another.

    min over T >= 0 of sum_ij T_ij |x_i - y_j|    with sum_j T_ij = p_i, sum_i T_ij = q_j

where p and q are the words' shares in their documents.

Reference: Kusner et al., From Word Embeddings To Document Distances, 2015.
"""

import numpy as np

from unhot.errors import extra
from unhot.types import Doubles


def movers_distance(x: Doubles, p: Doubles, y: Doubles, q: Doubles) -> float:
    """Return the least cost of moving vectors x with shares p to vectors y with shares q."""
    ot = extra("ot", "wmd", "the word mover's distance")
    costs = np.array([np.sqrt(np.square(y - row).sum(axis=1)) for row in x])  # [x, y]
    return float(ot.emd2(p, q, costs)) if costs.any() else 0.0
