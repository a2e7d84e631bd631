"""Elementary functions for kernels in forms that LLVM vectorises, or plain versions if Numba is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from strukt.kernels.jit import UNAVAILABLE

if UNAVAILABLE is None:
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    @intrinsic
    def _power_of_two(typing_context: Any, exponent: Any) -> Any:
        """Return 2**exponent for an int64 in the range of normal numbers, by writing the bits of a double."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            bits = builder.shl(builder.add(arguments[0], ir.Constant(word, 1023)), ir.Constant(word, 52))
            return builder.bitcast(bits, ir.DoubleType())

        return numba.types.float64(numba.types.int64), generate

    @numba.njit(fastmath={"contract"}, error_model="numpy", inline="never")
    def exp(x: float) -> float:
        """Return the exponential of a double, to 1 ulp, in a form that LLVM vectorises.

        Cody-Waite reduction to abs(r) <= ln(2)/2 and the Taylor polynomial of degree 13; 0 for -inf, and inf on
        overflow.
        """
        within = min(max(x, -1500.0), 1418.0)  # larger exponents would wrap around
        k = np.floor(within * 1.4426950408889634 + 0.5)
        r = within - k * 0.693147180369123816490
        r = r - k * 1.90821492927058770002e-10
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 0.0001984126984126984
        p = p * r + 0.001388888888888889
        p = p * r + 0.008333333333333333
        p = p * r + 0.041666666666666664
        p = p * r + 0.16666666666666666
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        half = np.int64(k) >> 1
        scaled = p * _power_of_two(half) * _power_of_two(np.int64(k) - half)  # type: ignore[call-arg]
        return scaled if x > -745.2 else 0.0

    @intrinsic
    def _bits(typing_context: Any, number: Any) -> Any:
        """Return the bits of a double as an int64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.IntType(64))

        return numba.types.int64(numba.types.float64), generate

    @intrinsic
    def _double(typing_context: Any, bits: Any) -> Any:
        """Return the double with the bits of an int64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.DoubleType())

        return numba.types.float64(numba.types.int64), generate

    @numba.njit(error_model="numpy")
    def power_of_two(exponent: int) -> float:
        """Return 2**exponent in the range of normal numbers, 0 for -1023."""
        return _power_of_two(np.int64(exponent))  # type: ignore[call-arg]

    @numba.njit(error_model="numpy")
    def binary_exponent(x: float) -> int:
        """Return the e with 2**e <= x < 2**(e + 1), for a positive normal number."""
        return (_bits(x) >> 52) - 1023  # type: ignore[call-arg]

    @numba.njit(fastmath={"contract"}, error_model="numpy", inline="never")
    def _log(whole: float, correction: float) -> float:
        """Return the logarithm of a positive normal number, plus a small ``correction``.

        The mantissa m is brought between sqrt(1/2) and sqrt(2), and log m is a series in (m - 1) / (m + 1).
        """
        bits: Any = _bits(whole)  # type: ignore[call-arg]
        exponent = _double((bits >> 52) | 0x4330000000000000) - 4503599627371519.0
        m = _double((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
        high = m > 1.4142135623730951
        m = 0.5 * m if high else m
        exponent = exponent + 1.0 if high else exponent
        f = (m - 1.0) / (m + 1.0)
        g = f * f
        p = 1 / 17 + g * (1 / 19 + g * (1 / 21 + g * (1 / 23)))
        p = 1 / 9 + g * (1 / 11 + g * (1 / 13 + g * (1 / 15 + g * p)))
        p = 2.0 * f * g * (1 / 3 + g * (1 / 5 + g * (1 / 7 + g * p)))
        return exponent * 0.693147180369123816490 + (
            2.0 * f + (p + (exponent * 1.90821492927058770002e-10 + correction))
        )

    @numba.njit(fastmath={"contract"}, error_model="numpy", inline="never")
    def log(x: float) -> float:
        """Return the logarithm of a positive normal number, to 2 ulp, in a form that LLVM vectorises."""
        return _log(x, 0.0)

    @numba.njit(fastmath={"contract"}, error_model="numpy", inline="never")
    def log1p(x: float) -> float:
        """Return the logarithm of 1 + x for x above -1, like `log`; the rounding error of 1 + x is added back."""
        whole = 1.0 + x
        return _log(whole, (x - (whole - 1.0)) / whole)

    # Explicit, else it inherits the fast-math flags of the calling kernel.
    @numba.njit(fastmath=False, error_model="numpy", inline="never")
    def difference(a: float, b: float) -> float:
        """Return ``a - b``, rounded before anything is added to it, although `kernel` allows reassociation.

        The difference of two large scales is exact; a small score added to one of them first would be rounded.
        """
        return a - b

    @intrinsic
    def _single_power_of_two(typing_context: Any, exponent: Any) -> Any:
        """Return 2**exponent for an int32 in the range of normal numbers, by writing the bits of a float."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(32)
            bits = builder.shl(builder.add(arguments[0], ir.Constant(word, 127)), ir.Constant(word, 23))
            return builder.bitcast(bits, ir.FloatType())

        return numba.types.float32(numba.types.int32), generate

    @numba.njit(fastmath={"contract"}, error_model="numpy", inline="never")
    def _exp_single(x: Any) -> Any:
        """Return the exponential of a float32 up to 88, to 2 ulp, in half the time of `exp`; 0 from -87 down.

        The polynomial of Cephes' expf after the same reduction.
        """
        single = np.float32
        k = np.floor(max(x, single(-87.0)) * single(1.4426950408889634) + single(0.5))
        r = max(x, single(-87.0)) - k * single(0.693359375) + k * single(2.12194440e-4)
        p = single(1.9875691500e-4)
        p = p * r + single(1.3981999507e-3)
        p = p * r + single(8.3334519073e-3)
        p = p * r + single(4.1665795894e-2)
        p = p * r + single(1.6666665459e-1)
        p = p * r + single(5.0000001201e-1)
        p = p * r + single(1.0)
        p = p * r + single(1.0)
        scaled = p * _single_power_of_two(np.int32(k))  # type: ignore[call-arg]
        return scaled if x > single(-87.0) else single(0.0)

else:

    def power_of_two(exponent: int) -> float:  # type: ignore[misc]
        """Return 2**exponent, 0 for -1023."""
        return 2.0 ** float(exponent) if exponent > -1023 else 0.0

    def binary_exponent(x: float) -> int:  # type: ignore[misc]
        """Return the e with 2**e <= x < 2**(e + 1)."""
        return max(int(np.frexp(x)[1]) - 1, -1023)  # as the compiled one for subnormal numbers

    def exp(x: float) -> float:  # type: ignore[misc]
        """Return the exponential."""
        return float(np.exp(x))

    def log(x: float) -> float:  # type: ignore[misc]
        """Return the logarithm."""
        return float(np.log(x))

    def log1p(x: float) -> float:  # type: ignore[misc]
        """Return the logarithm of 1 + x."""
        return float(np.log1p(x))

    def difference(a: float, b: float) -> float:  # type: ignore[misc]
        """Return ``a - b``."""
        return a - b


def typed_exp(x: Any) -> Any:
    """Return the exponential in the precision of its argument; single precision takes half the time."""
    return np.exp(x)


if UNAVAILABLE is None:

    @numba.extending.overload(typed_exp, strict=False)
    def _typed_exp(x: Any) -> Any:
        return (lambda x: _exp_single(x)) if x == numba.types.float32 else (lambda x: exp(x))
