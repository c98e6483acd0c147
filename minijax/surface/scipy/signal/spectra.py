"""Spectra of segments of a signal: `stft` and its inverse, `welch` and `csd`.

A signal is cut into segments that overlap; each loses its trend, is multiplied by a
window, and transformed.  `stft` hands these spectra on; `csd` averages products of two
signals' ones, `welch` those of one signal; `istft` adds segments up again.

What the host decides is a `Plan`, by which one compiled call is made.

Source: P. D. Welch, "The use of fast Fourier transform for the estimation of power
spectra", IEEE Trans. Audio Electroacoust. 15, 1967; D. Griffin, J. Lim, "Signal
estimation from modified short-time Fourier transform", IEEE Trans. ASSP 32, 1984.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....api.vmap import vmap
from ....base import errors
from ....base.util import canonical_axis
from ....control.arguments import concrete_or_error
from ....control.calls.jit import composite
from ....prims import lax
from ....types import dtypes
from ... import jnp
from ...numpy import fft
from ...numpy._common import as_array, aval_of, check_arraylike, promote_dtypes_inexact
from .trends import detrend as without_trend
from .windows import window_of

__all__ = ("stft", "istft", "csd", "welch")

ArrayLike = Any
Trend = bool | str | Callable[[Any], Any]
# How a signal goes on beyond its ends: arguments of `pad`.
_BOUNDARIES: dict[str, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
}


class Plan(NamedTuple):
    """What is known of a spectrum before it is computed."""

    size: int  # of a segment
    step: int  # from one to the next
    points: int  # of a transform
    trend: Trend
    onesided: bool
    scaling: str
    power: bool  # products of spectra, not these themselves
    boundary: str | None
    padded: bool
    axis: int
    average: str | None


# ----------------------------------------------------------------------------- planning


def as_int(x: Any, name: str) -> int:
    """A size as an int."""
    return int(concrete_or_error(None, x, f"{name} of windowed-FFT"))


def segment_size(nperseg: Any) -> int:
    """A positive size of segments."""
    size = as_int(nperseg, "nperseg")
    if size < 1:
        raise ValueError(f"nperseg must be a positive integer, got {size}")
    return size


def window_and_size(window: Any, nperseg: Any, samples: int) -> tuple[Any, int]:
    """The window's numbers, and how many samples a segment has."""
    size = None if nperseg is None else segment_size(nperseg)
    if isinstance(window, (str, tuple)):
        if size is None:
            size = min(256, samples)
        elif size > samples:
            warnings.warn(
                f"nperseg={size} is greater than input_length={samples},"
                f" using nperseg={samples}",
                stacklevel=4,
            )
            size = samples
        return window_of(window, size), size
    window = jnp.asarray(window)
    if window.ndim != 1:
        raise ValueError(f"window must be 1-D, got shape {window.shape}")
    if samples < window.size:
        raise ValueError(f"window is longer than input signal: {window.size} > {samples}")
    if size not in (None, window.size):
        raise ValueError(
            "value specified for nperseg is different from length of window:"
            f" {size} and {window.size}"
        )
    return window, window.size


def overlap_of(noverlap: Any, size: int) -> int:
    """How many samples segments share: by default half of them."""
    shared = size // 2 if noverlap is None else as_int(noverlap, "noverlap")
    if shared >= size:
        raise ValueError(f"noverlap must be less than nperseg. Got {shared} and {size}.")
    return shared


def spectra(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Trend,
    return_onesided: bool,
    scaling: str,
    axis: int,
    *,
    boundary: str | None = None,
    padded: bool = False,
    average: str | None = None,
) -> tuple[Any, Any, Any]:
    """Frequencies, times and spectra, after all checks."""
    check_arraylike(name, *([x] if y is None else [x, y]))
    if boundary is not None and boundary not in _BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {[*_BOUNDARIES, None]}"
        )
    a = aval_of(x)
    time_axis = concrete_or_error(operator.index, axis, "axis of windowed-FFT")
    axis = canonical_axis(time_axis, a.ndim)
    shapes = [a.shape]
    if y is not None:
        b = aval_of(y)
        if a.ndim != b.ndim:
            raise ValueError(f"two-arguments must have the same rank ({a.ndim} vs {b.ndim}).")
        shapes.append(b.shape)
        try:
            np.broadcast_shapes(*[v[:axis] + v[axis + 1 :] for v in shapes])
        except ValueError:
            raise errors.value_error(
                "x and y cannot be broadcast together.",
                which=f"shapes {a.shape} and {b.shape}, but for axis {axis}",
            ) from None
    samples = a.shape[axis]
    values, size = window_and_size(window, nperseg, samples)
    num_overlap = overlap_of(noverlap, size) if size else 0
    points = size if nfft is None else as_int(nfft, "nfft")
    if any(0 in shape for shape in shapes):
        return no_spectra(x, y, axis)
    if points < size:
        raise ValueError(
            f"nfft must be greater than or equal to nperseg. Got {points} and {size}."
        )
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling}")
    if not (isinstance(detrend, str) or callable(detrend) or not detrend):
        raise ValueError(f"Unsupported detrend type: {detrend}")
    both = promote_dtypes_inexact(*([x] if y is None else [x, y]))
    if return_onesided and dtypes.is_complex(aval_of(both[0]).dtype):
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=3)
        return_onesided = False
    plan = Plan(
        size,
        size - num_overlap,
        points,
        detrend or False,
        bool(return_onesided),
        scaling,
        name != "stft",
        boundary,
        bool(padded),
        time_axis,
        average,
    )
    run = _spectra if callable(detrend) else _compiled
    return run(x, y, values, fs, plan)  # type: ignore[no-any-return]


def no_spectra(x: Any, y: Any, axis: int) -> tuple[Any, Any, Any]:
    """What is handed out for no samples: empty arrays of the samples' shape."""
    arrays = [as_array(v) for v in ([x] if y is None else [x, y])]
    shape = list(arrays[0].shape)
    if y is not None:
        outer = [v.shape[:axis] + (1,) + v.shape[axis + 1 :] for v in arrays]
        shape = list(np.broadcast_shapes(*outer))
        shape[axis] = min(v.shape[axis] for v in arrays)
    dtype = dtypes.complex_of(promote_dtypes_inexact(*arrays)[0].dtype)
    real = jnp.zeros(shape, dtypes.real_of(dtype))
    return real, real, jnp.zeros(shape, dtype)


# ----------------------------------------------------------------------------- segments


def segments(x: Any, size: int, step: int) -> Any:
    """(..., samples) as (..., segments, size)."""
    starts = np.arange(0, x.shape[-1] - size + 1, step, dtype="int32")
    if size == step:
        return x[..., : len(starts) * size].reshape(*x.shape[:-1], len(starts), size)
    take_segment = lambda at: lax.dynamic_slice_in_dim(x, at, size, axis=-1)
    return vmap(take_segment, out_axes=-2)(starts)


def overlap_add(x: Any, step: int) -> Any:
    """The sum of (..., segments, size), each placed `step` after the one before.

    A segment is some pieces of `step` samples.  With the segments' axis longer by the
    number of pieces, and rows then cut one shorter, each piece moves one further than
    that before it: then columns are summed.
    """
    *outer, count, size = x.shape
    pieces = -(-size // step)
    widths = [(0, 0)] * len(outer) + [(0, pieces), (0, pieces * step - size)]
    x = jnp.pad(x, widths).reshape(*outer, count + pieces, pieces, step)
    x = jnp.moveaxis(x, -2, -3).reshape(*outer, pieces * (count + pieces), step)
    columns = count + pieces - 1
    x = x[..., : pieces * columns, :].reshape(*outer, pieces, columns, step)
    return x.sum(-3).reshape(*outer, columns * step)[..., : step * (count - 1) + size]


def transformed(x: Any, window: Any, plan: Plan) -> Any:
    """The spectra of a signal's segments: (..., segments, frequencies)."""
    x = segments(x, plan.size, plan.step)
    if isinstance(plan.trend, str):
        x = without_trend(x, type=plan.trend)
    elif callable(plan.trend):
        x = jnp.moveaxis(plan.trend(jnp.moveaxis(x, -1, plan.axis)), plan.axis, -1)
    x = x * window
    return fft.rfft(x.real, plan.points) if plan.onesided else fft.fft(x, plan.points)


def extend_and_pad(x: Any, plan: Plan) -> Any:
    """A signal that goes on beyond its ends, and is filled up to whole segments."""
    if plan.boundary is not None:
        half = plan.size // 2
        if plan.boundary == "odd" and half > x.shape[-1] - 1:
            raise ValueError(
                f"The extension length n ({half}) is too big. It must not exceed"
                f" x.shape[axis]-1, which is {x.shape[-1] - 1}."
            )
        x = pad_last(x, half, half, **_BOUNDARIES[plan.boundary])
    if plan.padded:
        x = pad_last(x, 0, -(x.shape[-1] - plan.size) % plan.step)
    return x


def pad_last(x: Any, before: int, after: int, **kind: Any) -> Any:
    """x padded along its last axis."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], **kind)


def _spectra(x, y, window, fs, plan: Plan):
    signals = promote_dtypes_inexact(*[as_array(v) for v in (x, y) if v is not None])
    axis = plan.axis % signals[0].ndim
    signals = [jnp.moveaxis(v, axis, -1) for v in signals]
    longest = max(v.shape[-1] for v in signals)
    signals = [pad_last(v, 0, longest - v.shape[-1]) for v in signals]
    dtype = signals[0].dtype
    real = dtypes.real_of(dtype)
    window = jnp.asarray(window).astype(dtype)
    signals = [extend_and_pad(v, plan) for v in signals]
    samples = signals[0].shape[-1]
    spectra_of_signals = [transformed(v, window, plan) for v in signals]
    if plan.scaling == "density":
        scale = 1.0 / (fs * (window * window).sum())
    else:
        scale = 1.0 / window.sum() ** 2
    if plan.power:
        out = jnp.conj(spectra_of_signals[0]) * spectra_of_signals[-1] * scale
        if plan.onesided:  # each frequency stands for two, but 0 and the last of even
            last = out.shape[-1] - (plan.points % 2 == 0)
            out = out.at[..., 1:last].mul(2)
        if y is None:
            out = out.real
    else:
        out = spectra_of_signals[0] * jnp.sqrt(scale)
    spaced = fft.rfftfreq if plan.onesided else fft.fftfreq
    frequencies = spaced(plan.points, 1 / fs, dtype=real)
    half = plan.size / 2
    times = jnp.arange(half, samples - half + 1, plan.step, dtype=real) / fs
    if plan.boundary is not None:
        times = times - half / fs
    if plan.average is not None:
        return frequencies, times, jnp.moveaxis(averaged(out, plan.average), -1, axis)
    return frequencies, times, jnp.moveaxis(out, -1, axis)


_compiled = composite(_spectra, static="plan")


def averaged(x: Any, how: str) -> Any:
    """(..., segments, frequencies) without the axis of segments."""
    n = x.shape[-2]
    if n == 1:
        return x[..., 0, :]
    if how == "mean":
        return x.mean(-2)
    # The median of n exponential variables has the mean 1 - 1/2 + 1/3 ... of an odd
    # number of terms (Allen, Anderson et al., Phys. Rev. D 85, 122006, appendix B).
    k = np.arange(1, n + n % 2)
    bias = float(((-1.0) ** (k + 1) / k).sum())
    if dtypes.is_complex(x.dtype):
        middle = lax.complex(jnp.median(x.real, -2), jnp.median(x.imag, -2))
    else:
        middle = jnp.median(x, -2)
    return middle / bias


# -------------------------------------------------------------------- power spectra


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    r"""The cross spectral density of two signals, by Welch's method.

    .. math:: P_f = \frac{c}{K} \sum_{k=1}^K \overline{X_{kf}} Y_{kf}

    for the spectra X, Y of K segments; c is 1 / (fs sum w^2), or 1 / (sum w)^2.

    Args:
      x, y: arrays of one rank, of samples; the shorter is followed by zeros. `y` None
        stands for `x`.
      fs: samples per unit of time.
      window: a window's name ("hann", "hamming", "blackman", "boxcar", ...), a tuple of
        a name and numbers (("tukey", 0.25), ("gaussian", 8.)), or its numbers.
      nperseg: samples in a segment (default: 256, or as many as the window has).
      noverlap: samples that segments share (default: half of them).
      nfft: points of a transform (default: `nperseg`); zeros follow a segment.
      detrend: what segments lose: 'constant', 'linear' (see `detrend`), False for
        nothing, or a function of segments, whose samples lie along `axis`.
      return_onesided: leave negative frequencies out, of real signals.
      scaling: 'density' (squared units by frequency) or 'spectrum' (squared units).
      axis: the axis of time.
      average: 'mean' or 'median' of the segments.

    Returns:
      (frequencies [F], densities: an array with F in the place of `axis`, complex, or
      real for `y` None).

    Raises:
      ValueError: an unknown option, or sizes that do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> x = jnp.array([1., -1., 1., -1.])
      >>> f, p = csd(x, 2 * x, window="boxcar", nperseg=4)
      >>> f.tolist(), p.tolist()
      ([0.0, 0.25, 0.5], [0j, 0j, (8+0j)])

    Source: see the module.
    """
    check_average(average)
    f, _, p = spectra(
        "csd",
        x,
        y,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average=average,
    )
    return f, p


def check_average(average: str) -> None:
    """ValueError unless there is such an average."""
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    r"""The power spectral density of a signal, by Welch's method.

    .. math:: P_f = \frac{c}{K} \sum_{k=1}^K |X_{kf}|^2

    Args:
      x: array of samples.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average: as for `csd`.

    Returns:
      (frequencies [F], densities: a real array with F in the place of `axis`).

    Raises:
      ValueError: an unknown option, or sizes that do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> f, p = welch(jnp.array([1., -1., 1., -1.]), window="boxcar", nperseg=2)
      >>> f.tolist(), p.tolist()
      ([0.0, 0.5], [0.0, 2.0])

    Source: see the module.
    """
    check_average(average)
    f, _, p = spectra(
        "welch",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average=average,
    )
    return f, p.real


# --------------------------------------------------------------------- and their inverse


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Trend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    r"""The short-time Fourier transform: spectra of segments that overlap.

    .. math:: X_{fk} = \frac{1}{\sum_i w_i} \sum_i w_i x_{i + kh} e^{-2 \pi \mathrm{i} f i}

    Args:
      x: array of samples.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: as for `csd`.
      boundary: what is beyond the ends, for half a segment: 'zeros', 'even', 'odd',
        'constant', or None: nothing.
      padded: fill the signal up to whole segments, by zeros.
      axis: the axis of time.

    Returns:
      (frequencies [F], times [T] of segments' middles, spectra: a complex array with F
      in the place of `axis`, and T last).

    Raises:
      ValueError: an unknown option, or sizes that do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> f, t, z = stft(jnp.ones(4), window="boxcar", nperseg=2, boundary=None)
      >>> t.tolist(), z.real.tolist()
      ([1.0, 2.0, 3.0], [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])

    Source: see the module.
    """
    return spectra(
        "stft",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        "spectrum",
        axis,
        boundary=boundary,
        padded=padded,
    )


class Inverse(NamedTuple):
    """What is known of a signal before it is put together."""

    size: int
    step: int
    points: int
    onesided: bool
    trimmed: bool
    time: int
    frequency: int


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    r"""A signal from its short-time Fourier transform: the nearest in least squares.

    .. math:: x_i = \frac{\sum_k w_{i - kh} x^{(k)}_{i - kh}}{\sum_k w_{i - kh}^2}

    Args:
      Zxx: complex array with axes of frequencies and of segments, as `stft` gives it.
      fs, window, nperseg, noverlap, nfft: as `stft` was told; by default 2 (F - 1)
        samples a segment, or F of `input_onesided=False`, and half of them shared.
      input_onesided: negative frequencies are left out.
      boundary: the signal was extended at its ends: cut that off.
      time_axis, freq_axis: where segments and frequencies are.

    Returns:
      (times [T], an array with T in the place of `time_axis`, real if
      `input_onesided`).

    Raises:
      ValueError: fewer than two axes, or sizes that do not fit.

    Example:
      >>> import minijax.numpy as jnp
      >>> z = stft(jnp.arange(6.), nperseg=4)[2]
      >>> jnp.round(istft(z)[1], 4)
      Array([0., 1., 2., 3., 4., 5.], dtype=float32)

    Source: see the module.
    """
    check_arraylike("istft", Zxx)
    shape = aval_of(Zxx).shape
    if len(shape) < 2:
        raise ValueError(f"Input stft must be at least 2d! Got shape {shape}.")
    time, frequency = (canonical_axis(i, len(shape)) for i in (time_axis, freq_axis))
    if time == frequency:
        raise ValueError("Must specify differing time and frequency axes!")
    bins = shape[frequency]
    full = 2 * (bins - 1) if input_onesided else bins
    size = segment_size(full if nperseg is None else nperseg)
    if nfft is not None:
        points = as_int(nfft, "nfft")
    else:  # an odd size is not seen from the number of frequencies
        points = full + 1 if input_onesided and size == full + 1 else full
    if points < size:
        raise ValueError(f"FFT length ({points}) must be longer than nperseg ({size}).")
    step = size - overlap_of(noverlap, size)
    if isinstance(window, (str, tuple)):
        values = window_of(window, size)
    else:
        values = jnp.asarray(window)
        if values.ndim != 1:
            raise ValueError(f"window must be 1-D, got shape {values.shape}")
        if values.shape[0] != size:
            raise ValueError(f"window must have length of {size}, got {len(values)}")
    plan = Inverse(size, step, points, bool(input_onesided), bool(boundary), time, frequency)
    return _istft(Zxx, values, fs, plan)  # type: ignore[no-any-return]


@composite(static="plan")
def _istft(Zxx, window, fs, plan: Inverse):
    z = as_array(Zxx)
    z = z.astype(dtypes.complex_of(dtypes.to_inexact(z.dtype)))
    z = jnp.moveaxis(z, (plan.time, plan.frequency), (-2, -1))
    inverse_fft = fft.irfft if plan.onesided else fft.ifft
    segments_out = inverse_fft(z, plan.points)[..., : plan.size]
    window = jnp.asarray(window).astype(segments_out.dtype)
    x = overlap_add(segments_out * window.sum() * window, plan.step)
    square = jnp.broadcast_to(window * window, segments_out.shape[-2:])
    covered = overlap_add(square, plan.step)
    if plan.trimmed:
        half = plan.size // 2
        x = x[..., half : x.shape[-1] - half]
        covered = covered[half : len(covered) - half]
    x = x / jnp.where(jnp.abs(covered) > 1e-10, covered, 1)
    times = jnp.arange(x.shape[-1], dtype=dtypes.real_of(x.dtype)) / fs
    return times, jnp.moveaxis(x, -1, plan.time - (plan.frequency < plan.time))
