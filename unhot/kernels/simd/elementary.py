"""exp and log of vectors of floats, by polynomials.

They are accurate to the last digits of float32 and take a few instructions per vector.
"""

from unhot.kernels.simd.lanes import (
    FAST,
    INTEGERS,
    LANES,
    VECTOR,
    Value,
    call,
    fma,
    integers,
    polynomial,
    splat_constant,
)

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
SMALLEST = -87.0  # exp of a smaller number is not a normal float
# Chebyshev fits: 2**x on [-1/2, 1/2] to 7e-8, exactly 1 at 0; log(1 + x) / x on [0, 1] to 4e-8 (relative)
EXP2 = (1.0, 0.6931472, 0.2402265, 0.05550357, 0.009618057, 0.0013390867, 0.00015461448)
LOG1P = (
    0.99999994,
    -0.49999446,
    0.3331812,
    -0.24835399,
    0.19076881,
    -0.13602248,
    0.077516086,
    -0.029074065,
    0.005126102,
)
_EXPONENT, _MANTISSA = 23, 0x7FFFFF
_ONE = 0x3F800000


def exp(b: Value, x: Value) -> Value:
    """Return the exponential of x <= 0; where x is below SMALLEST or NaN, use SMALLEST instead.

    The result is 2**whole, built from its bits, times a polynomial.
    """
    x = b.select(b.fcmp_ordered(">", x, splat_constant(SMALLEST)), x, splat_constant(SMALLEST))
    whole = call(b, f"llvm.rint.v{LANES}f32", VECTOR, [b.fmul(x, splat_constant(LOG2_E), flags=FAST)])
    power = polynomial(b, fma(b, x, splat_constant(LOG2_E), b.fneg(whole)), EXP2)
    bits = b.shl(b.add(b.fptosi(whole, INTEGERS), integers(127)), integers(_EXPONENT))
    return b.fmul(power, b.bitcast(bits, VECTOR), flags=FAST)


def log1p(b: Value, x: Value) -> Value:
    """Return log(1 + x) for x in [0, 1], to float32's relative precision."""
    return b.fmul(x, polynomial(b, x, LOG1P), flags=FAST)


def log(b: Value, x: Value) -> Value:
    """Return the logarithm of a positive normal number: exponent times log 2 plus log of the mantissa.

    Above 1, no digits are lost.
    """
    bits = b.bitcast(x, INTEGERS)
    exponent = b.sitofp(b.sub(b.lshr(bits, integers(_EXPONENT)), integers(127)), VECTOR)
    mantissa = b.bitcast(b.or_(b.and_(bits, integers(_MANTISSA)), integers(_ONE)), VECTOR)
    return fma(b, exponent, splat_constant(LN_2), log1p(b, b.fsub(mantissa, splat_constant(1.0))))
