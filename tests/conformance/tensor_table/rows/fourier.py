"""Fourier transforms; complex values are pairs in a last axis of 2."""

from __future__ import annotations

from tensor_table.cases import WIDE, Case, Row, like_numpy, like_torch, row
from tensor_table.inputs import num

LOOSE = {"float32": 1e-4}


def pairs(ours: str, theirs: str, shape: tuple[int, ...], **options: object) -> Case:
    """A transform of pairs; C and R are PyTorch's views as complex and as real numbers."""
    theirs = theirs.replace("C(", "T.view_as_complex(").replace("R(", "T.view_as_real(")
    return like_torch(ours, theirs, x=num(*shape), dtypes=WIDE, tolerance=LOOSE, **options)


ROWS: tuple[Row, ...] = (
    row("to_pairs", pairs("x.to_pairs()", "T.stack((x, x * 0), -1)", (2, 3))),
    row(
        "pairs_mul",
        like_torch(
            "x.pairs_mul(y)",
            "T.view_as_real(T.view_as_complex(x) * T.view_as_complex(y))",
            x=num(3, 2),
            y=num(3, 2),
            dtypes=WIDE,
        ),
    ),
    row("pairs_abs", pairs("x.pairs_abs()", "C(x).abs()", (3, 2))),
    row("pairs_conj", pairs("x.pairs_conj()", "x * T.tensor([1, -1])", (3, 2))),
    row(
        "fft",
        pairs("x.fft()", "R(T.fft.fft(C(x)))", (2, 6, 2)),
        pairs("x.fft(5, norm='ortho')", "R(T.fft.fft(C(x), 5, norm='ortho'))", (7, 2)),
        bad={"Tensor.ones(3).fft()": "TgError", "Tensor.ones(3, 2).fft(norm='no')": "TgError"},
    ),
    row("ifft", pairs("x.ifft()", "R(T.fft.ifft(C(x)))", (2, 6, 2))),
    row(
        "rfft",
        pairs("x.rfft()", "R(T.fft.rfft(x))", (2, 7)),
        pairs("x.rfft(dim=0)", "R(T.fft.rfft(x, dim=0))", (8, 2)),
    ),
    row("irfft", pairs("x.irfft()", "T.fft.irfft(C(x))", (5, 2), gradient=False)),
    row("hfft", pairs("x.hfft()", "T.fft.hfft(C(x))", (5, 2), gradient=False)),
    row("ihfft", pairs("x.ihfft()", "R(T.fft.ihfft(x).resolve_conj())", (6,))),
    row("fft2", pairs("x.fft2()", "R(T.fft.fft2(C(x)))", (3, 4, 2))),
    row("ifft2", pairs("x.ifft2()", "R(T.fft.ifft2(C(x)))", (3, 4, 2))),
    row("fftn", pairs("x.fftn()", "R(T.fft.fftn(C(x)))", (2, 3, 2, 2))),
    row("ifftn", pairs("x.ifftn()", "R(T.fft.ifftn(C(x)))", (2, 3, 2, 2))),
    row("rfft2", pairs("x.rfft2()", "R(T.fft.rfft2(x))", (3, 4))),
    row("rfftn", pairs("x.rfftn()", "R(T.fft.rfftn(x))", (2, 3, 4))),
    row("irfft2", pairs("x.rfft2().irfft2()", "x + 0", (3, 4))),
    row("irfftn", pairs("x.rfftn().irfftn()", "x + 0", (2, 3, 4))),
    row("fftfreq", like_numpy("Tensor.fftfreq(5, 0.5)", "np.fft.fftfreq(5, 0.5)")),
    row("rfftfreq", like_numpy("Tensor.rfftfreq(6)", "np.fft.rfftfreq(6)")),
    row("fftshift", like_numpy("x.fftshift()", "np.fft.fftshift(x)", x=num(3, 4))),
    row("ifftshift", like_numpy("x.ifftshift()", "np.fft.ifftshift(x)", x=num(3, 5))),
)
