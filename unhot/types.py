"""Array types, named by what the arrays hold."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Ids: TypeAlias = NDArray[np.int32]  # word ids; a vocabulary has fewer than 2**31 words
Starts: TypeAlias = NDArray[np.int64]  # positions in an id array
Counts: TypeAlias = NDArray[np.int64]
Words64: TypeAlias = NDArray[np.uint64]  # hashes, random bits, packed alias tables
Floats: TypeAlias = NDArray[np.float32]  # vectors, scores
Doubles: TypeAlias = NDArray[np.float64]  # probabilities, losses, references
