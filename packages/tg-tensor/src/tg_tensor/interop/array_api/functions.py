"""Elementwise functions of one argument of the array API standard."""

from __future__ import annotations

from tg_tensor.tensor import Tensor


def abs(x: Tensor, /) -> Tensor:
    """The absolute value."""
    return x.abs()


def acos(x: Tensor, /) -> Tensor:
    """The arc cosine, NaN outside [-1, 1]."""
    return x.acos()


def acosh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic cosine."""
    return x.acosh()


def asin(x: Tensor, /) -> Tensor:
    """The arc sine, NaN outside [-1, 1]."""
    return x.asin()


def asinh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic sine."""
    return x.asinh()


def atan(x: Tensor, /) -> Tensor:
    """The arc tangent."""
    return x.atan()


def atanh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic tangent."""
    return x.atanh()


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Each bit inverted; of a bool, its opposite."""
    return x.bitwise_not()


def ceil(x: Tensor, /) -> Tensor:
    """The smallest whole number that is not less."""
    return x.ceil()


def conj(x: Tensor, /) -> Tensor:
    """The complex conjugate: every Tensor is real, so that it is `x`."""
    return +x


def cos(x: Tensor, /) -> Tensor:
    """The cosine."""
    return x.cos()


def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosine."""
    return x.cosh()


def exp(x: Tensor, /) -> Tensor:
    """The exponential."""
    return x.exp()


def expm1(x: Tensor, /) -> Tensor:
    """The exponential less 1, exact near 0."""
    return x.expm1()


def floor(x: Tensor, /) -> Tensor:
    """The largest whole number that is not greater."""
    return x.floor()


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part: every Tensor is real, so that it is 0."""
    return x.zeros_like()


def isfinite(x: Tensor, /) -> Tensor:
    """Whether neither infinite nor NaN."""
    return x.isfinite()


def isinf(x: Tensor, /) -> Tensor:
    """Whether infinite."""
    return x.isinf()


def isnan(x: Tensor, /) -> Tensor:
    """Whether NaN."""
    return x.isnan()


def log(x: Tensor, /) -> Tensor:
    """The natural logarithm."""
    return x.log()


def log1p(x: Tensor, /) -> Tensor:
    """The logarithm of `1 + x`, exact near 0."""
    return x.log1p()


def log2(x: Tensor, /) -> Tensor:
    """The logarithm to base 2."""
    return x.log2()


def log10(x: Tensor, /) -> Tensor:
    """The logarithm to base 10."""
    return x.log10()


def logical_not(x: Tensor, /) -> Tensor:
    """Whether 0 or False."""
    return x.logical_not()


def negative(x: Tensor, /) -> Tensor:
    """The negative."""
    return -x


def positive(x: Tensor, /) -> Tensor:
    """The same values."""
    return +x


def real(x: Tensor, /) -> Tensor:
    """The real part: every Tensor is real, so that it is `x`."""
    return +x


def reciprocal(x: Tensor, /) -> Tensor:
    """One divided by `x`."""
    return x.reciprocal()


def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, of two the even one."""
    return x.round()


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; NaN of NaN."""
    return x.isnan().where(x, x.sign()) if x.dtype.is_float else x.sign()


def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign is negative, that of -0.0 and NaN too."""
    return x.signbit()


def sin(x: Tensor, /) -> Tensor:
    """The sine."""
    return x.sin()


def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sine."""
    return x.sinh()


def sqrt(x: Tensor, /) -> Tensor:
    """The square root, NaN of negative numbers."""
    return x.sqrt()


def square(x: Tensor, /) -> Tensor:
    """The product with itself."""
    return x.square()


def tan(x: Tensor, /) -> Tensor:
    """The tangent."""
    return x.tan()


def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangent."""
    return x.tanh()


def trunc(x: Tensor, /) -> Tensor:
    """The whole number next to 0."""
    return x.trunc()
