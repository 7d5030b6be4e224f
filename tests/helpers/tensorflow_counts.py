"""The counts that TensorFlow's samplers report, by their formula."""

import numpy as np


def tensorflow_expected_counts(q, k, tries):
    """Return the counts for k draws that took so many tries: k q if no draw was repeated."""
    return k * q if tries == k else -np.expm1(tries * np.log1p(-np.minimum(q, 1.0 - 2.0**-53)))
