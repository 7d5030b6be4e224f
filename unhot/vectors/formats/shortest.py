"""Print float32 numbers with the fewest digits that read back as the same number, a whole matrix at once.

A float32 x needs at most 9 significant digits. For n = 6, 7, 8, 9 and p = n - 1 - floor(log10 |x|):

    m = round(x 10^p),   d = m / 10^p,   stop when float32(d) == x

m < 2^53 and 10^p (p <= 22) are exact doubles, so d is the double nearest to the decimal m 10^-p, and
`"%.9g" % d` prints exactly those digits. n < 6 need not be tried: a decimal of up to 6 digits is also the
nearest 6-digit decimal of its float32. Numbers outside this range are printed by NumPy, which is slow, once
for each different number. Two subtle cases (x half way between two decimals; a power of two, whose gap below
is half as wide as above) make no difference inside the range: every such number was checked.
"""

import numpy as np

from unhot.types import Doubles, Floats

POWERS: Doubles = np.array([float(10**power) for power in range(23)])
SMALLEST, LARGEST = 1e-13, 1e6  # outside this range, 10^p is not an exact double, or p is negative
FEWEST, MOST = 6, 9  # significant digits


def shortest_doubles(values: Floats) -> Doubles:
    """Return doubles that `%.9g` prints as the shortest decimals that read back as the same float32."""
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        x = values.astype(np.float64).ravel()
    out = x.copy()
    size = np.abs(x)
    easy = (size >= SMALLEST) & (size < LARGEST)
    todo = np.flatnonzero(easy)
    exponent = np.floor(np.log10(size[todo])).astype(np.int64)
    for digits in range(FEWEST, MOST + 1):
        scale = POWERS[digits - 1 - exponent]
        rounded = np.rint(x[todo] * scale) / scale
        out[todo] = rounded
        missed = rounded.astype(np.float32) != x[todo]
        todo, exponent = todo[missed], exponent[missed]
    hard = np.flatnonzero(~easy & (size != 0.0))
    different, which = np.unique(x[hard], return_inverse=True)
    out[hard] = np.array([float(str(number)) for number in different.astype(np.float32)], dtype=np.float64)[
        which
    ]
    return out.reshape(values.shape)
