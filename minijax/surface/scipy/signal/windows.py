"""Windows of signal processing by name: weights that taper a segment at its ends.

These are the periodic windows for spectra: the first M of M + 1 symmetric points.  They are
computed on the host, in float64.

Source: F. J. Harris, "On the use of windows for harmonic analysis with the discrete
Fourier transform", Proc. IEEE 66 (1978); A. H. Nuttall, "Some windows with very good
sidelobe behavior", IEEE Trans. ASSP 29 (1981).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....base import errors

__all__ = ("window_of",)


def cosines(n: Any, L: int, weights: Sequence[float]) -> Any:
    """Return the sum of (-1)^k w_k cos(2 pi k n / (L - 1))."""
    phase = 2 * np.pi * n / (L - 1)
    terms = [(-1) ** k * w * np.cos(k * phase) for k, w in enumerate(weights)]
    return np.sum(terms, axis=0)


def general_hamming(n: Any, L: int, alpha: float) -> Any:
    """Return two cosine terms with weights of sum 1."""
    return cosines(n, L, [alpha, 1 - alpha])


def triangle(n: Any, L: int) -> Any:
    """Return a triangle that is zero one step, or half a step, beyond its ends."""
    return 1 - np.abs(n - (L - 1) / 2) / ((L + L % 2) / 2)


def bartlett(n: Any, L: int) -> Any:
    """Return a triangle that is zero at its ends."""
    return 1 - np.abs(2 * n / (L - 1) - 1)


def parzen(n: Any, L: int) -> Any:
    """Return the convolution of four boxes."""
    x = np.abs(n - (L - 1) / 2) / (L / 2)
    inner = np.abs(n - (L - 1) / 2) <= (L - 1) / 4
    return np.where(inner, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)


def bohman(n: Any, L: int) -> Any:
    """Return the convolution of two half cosines."""
    x = np.abs(2 * n / (L - 1) - 1)
    return np.where(x < 1, (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi, 0)


def barthann(n: Any, L: int) -> Any:
    """Return a triangle and a cosine (Ha, Pearce, 1989)."""
    x = np.abs(n / (L - 1) - 0.5)
    return 0.62 - 0.48 * x + 0.38 * np.cos(2 * np.pi * x)


def exponential(n: Any, L: int, center: float | None = None, tau: float = 1.0) -> Any:
    """Return exp(-|n - center| / tau)."""
    return np.exp(-np.abs(n - ((L - 1) / 2 if center is None else center)) / tau)


def general_gaussian(n: Any, L: int, p: float, sig: float) -> Any:
    """Return exp(-|n / sig|^(2 p) / 2), with n counted from the middle."""
    return np.exp(-0.5 * np.abs((n - (L - 1) / 2) / sig) ** (2 * p))


def kaiser(n: Any, L: int, beta: float) -> Any:
    """Return the Kaiser window: a quotient of Bessel functions."""
    x = np.maximum(1 - (2 * n / (L - 1) - 1) ** 2, 0)
    return np.i0(beta * np.sqrt(x)) / np.i0(beta)


def tukey(n: Any, L: int, alpha: float = 0.5) -> Any:
    """Return a box with cosine tapers over the fraction alpha of its length."""
    edge = min(max(alpha, 0), 1) * (L - 1) / 2
    from_edge = np.minimum(n, L - 1 - n)
    if not edge:
        return np.ones(len(n))
    return np.where(from_edge < edge, 0.5 * (1 - np.cos(np.pi * from_edge / edge)), 1.0)


# The names of each window, and its function of the points and the length.
_TABLE: list[tuple[str, Callable[..., Any]]] = [
    ("hann han", lambda n, L: cosines(n, L, [0.5, 0.5])),
    ("hamming hamm ham", lambda n, L: cosines(n, L, [0.54, 0.46])),
    ("blackman black blk", lambda n, L: cosines(n, L, [0.42, 0.5, 0.08])),
    (
        "blackmanharris blackharr bkh",
        lambda n, L: cosines(n, L, [0.35875, 0.48829, 0.14128, 0.01168]),
    ),
    (
        "nuttall nutl nut",
        lambda n, L: cosines(n, L, [0.3635819, 0.4891775, 0.1365995, 0.0106411]),
    ),
    (
        "flattop flat flt",
        lambda n, L: cosines(
            n, L, [0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368]
        ),
    ),
    ("general_cosine", cosines),
    ("general_hamming", general_hamming),
    ("boxcar box ones rect rectangular", lambda n, L: np.ones(len(n))),
    ("triang triangle tri", triangle),
    ("bartlett bart brt", bartlett),
    ("parzen parz par", parzen),
    ("bohman bman bmn", bohman),
    ("barthann brthan bth", barthann),
    ("cosine halfcosine", lambda n, L: np.sin(np.pi / L * (n + 0.5))),
    ("lanczos sinc", lambda n, L: np.sinc(2 * n / (L - 1) - 1)),
    ("exponential poisson", exponential),
    ("gaussian gauss gss", lambda n, L, std: general_gaussian(n, L, 1.0, std)),
    ("general_gaussian general_gauss ggs", general_gaussian),
    ("kaiser ksr", kaiser),
    ("tukey tuk", tukey),
]
_WINDOWS = {name: window for names, window in _TABLE for name in names.split()}


def window_of(window: str | tuple[Any, ...], size: int) -> Any:
    """Return a window, by its name or a tuple of the name and parameters, in float64.

    >>> window_of("hann", 4).round(3).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    name, *numbers = (window,) if isinstance(window, str) else window
    window_fun = _WINDOWS.get(name.replace(" ", "_") if isinstance(name, str) else name)
    if window_fun is None:
        raise errors.value_error(
            "Unknown window type.",
            which=repr(window),
            tries=[
                f"one of {', '.join(n.split()[0] for n, _ in _TABLE)}",
                "the window's values, as an array",
            ],
        )
    if size == 1:
        return np.ones(1)
    try:
        return window_fun(np.arange(size), size + 1, *numbers)
    except TypeError:
        raise errors.value_error(
            f"The '{name}' window needs one or more parameters -- pass a tuple.",
            which=repr(window),
        ) from None
