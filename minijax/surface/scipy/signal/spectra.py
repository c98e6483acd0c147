"""Spectra of segments of a signal: `stft` and its inverse, `welch` and `csd`.

A signal is split into overlapping segments.  Each is detrended, multiplied by a window, and
transformed.  `stft` returns these spectra; `csd` averages the products of two signals'
spectra, `welch` those of one signal; `istft` adds the segments to a signal again.

The static options are a `SpectrumOptions`, the key of one compiled call.

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
# How a signal is extended beyond its ends: arguments of `pad`.
_BOUNDARIES: dict[str, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
}


class SpectrumOptions(NamedTuple):
    """The static options of a spectrum."""

    size: int  # the length of a segment
    step: int  # the distance between segments
    points: int  # the length of a transform
    trend: Trend
    onesided: bool
    scaling: str
    power: bool  # products of spectra instead of spectra
    boundary: str | None
    padded: bool
    axis: int
    average: str | None


# ----------------------------------------------------------------------------- planning


def as_int(x: Any, name: str) -> int:
    """Convert a static size to an int."""
    return int(concrete_or_error(None, x, f"{name} of windowed-FFT"))


def segment_size(nperseg: Any) -> int:
    """Return the segment size, which must be positive."""
    size = as_int(nperseg, "nperseg")
    if size < 1:
        raise ValueError(f"nperseg must be a positive integer, got {size}")
    return size


def window_and_size(window: Any, nperseg: Any, samples: int) -> tuple[Any, int]:
    """Return the values of the window and the number of samples per segment."""
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
    """Return the number of samples that segments share: by default half of them."""
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
    """Check all arguments, and return frequencies, times and spectra."""
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
                which=f"shapes {a.shape} and {b.shape}, except axis {axis}",
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
    plan = SpectrumOptions(
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
    # A user's function may close over tracers, so it cannot be the key of a compiled call.
    run = _spectra if callable(detrend) else _compiled
    return run(x, y, values, fs, plan)  # type: ignore[no-any-return]


def no_spectra(x: Any, y: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return the result for empty signals: empty arrays of the samples' shape."""
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
    """Split (..., samples) into (..., segments, size)."""
    starts = np.arange(0, x.shape[-1] - size + 1, step, dtype="int32")
    if size == step:
        return x[..., : len(starts) * size].reshape(*x.shape[:-1], len(starts), size)
    take_segment = lambda at: lax.dynamic_slice_in_dim(x, at, size, axis=-1)
    return vmap(take_segment, out_axes=-2)(starts)


def overlap_add(x: Any, step: int) -> Any:
    """Add the segments (..., segments, size), each `step` samples after the previous one.

    A segment consists of pieces of `step` samples.  The axis of segments is padded by the
    number of pieces, and the flattened rows are reshaped to rows one element shorter.  Each
    piece is then shifted by one more position than the previous piece, and columns are
    summed.
    """
    *outer, count, size = x.shape
    pieces = -(-size // step)
    widths = [(0, 0)] * len(outer) + [(0, pieces), (0, pieces * step - size)]
    x = jnp.pad(x, widths).reshape(*outer, count + pieces, pieces, step)
    x = jnp.moveaxis(x, -2, -3).reshape(*outer, pieces * (count + pieces), step)
    columns = count + pieces - 1
    x = x[..., : pieces * columns, :].reshape(*outer, pieces, columns, step)
    return x.sum(-3).reshape(*outer, columns * step)[..., : step * (count - 1) + size]


def transformed(x: Any, window: Any, plan: SpectrumOptions) -> Any:
    """Return the spectra of a signal's segments: (..., segments, frequencies)."""
    x = segments(x, plan.size, plan.step)
    if isinstance(plan.trend, str):
        x = without_trend(x, type=plan.trend)
    elif callable(plan.trend):
        x = jnp.moveaxis(plan.trend(jnp.moveaxis(x, -1, plan.axis)), plan.axis, -1)
    x = x * window
    return fft.rfft(x.real, plan.points) if plan.onesided else fft.fft(x, plan.points)


def extend_and_pad(x: Any, plan: SpectrumOptions) -> Any:
    """Extend a signal beyond its ends, and pad it to complete segments."""
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
    """Pad x along its last axis."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], **kind)


def _spectra(x, y, window, fs, plan: SpectrumOptions):
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
        # A one-sided spectrum doubles all bins except 0 and, for even sizes, the last.
        if plan.onesided:
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
    """Average (..., segments, frequencies) over the segments."""
    n = x.shape[-2]
    if n == 1:
        return x[..., 0, :]
    if how == "mean":
        return x.mean(-2)
    # The median of n exponential variables has the mean 1 - 1/2 + 1/3 ..., with an odd
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
    r"""Estimate the cross spectral density of two signals by Welch's method.

    .. math:: P_f = \frac{c}{K} \sum_{k=1}^K \overline{X_{kf}} Y_{kf}

    Here X and Y are the spectra of K segments; c is 1 / (fs sum w^2), or 1 / (sum w)^2.

    Args:
      x, y: arrays of samples of equal rank; the shorter is padded with zeros.  `y=None`
        means `x`.
      fs: samples per unit of time.
      window: a window's name ("hann", "hamming", "blackman", "boxcar", ...), a tuple of
        a name and parameters (("tukey", 0.25), ("gaussian", 8.)), or its values.
      nperseg: samples per segment (default: 256, or the length of the window).
      noverlap: samples that segments share (default: half of them).
      nfft: points of a transform (default: `nperseg`); segments are padded with zeros.
      detrend: the trend to remove from segments: 'constant', 'linear' (see `detrend`),
        False, or a function of segments, whose samples are along `axis`.
      return_onesided: omit negative frequencies, for real signals.
      scaling: 'density' (squared units per frequency) or 'spectrum' (squared units).
      axis: the time axis.
      average: 'mean' or 'median' over the segments.

    Returns:
      (frequencies [F], densities: an array with F in place of `axis`, complex, or real for
      `y=None`).

    Raises:
      ValueError: an option is unknown, or sizes do not fit.

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
    """Raise ValueError for an unknown average."""
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
    r"""Estimate the power spectral density of a signal by Welch's method.

    .. math:: P_f = \frac{c}{K} \sum_{k=1}^K |X_{kf}|^2

    Args:
      x: array of samples.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average: as for `csd`.

    Returns:
      (frequencies [F], densities: a real array with F in place of `axis`).

    Raises:
      ValueError: an option is unknown, or sizes do not fit.

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


# ------------------------------------------------------------------ stft and its inverse


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
    r"""Compute the short-time Fourier transform: spectra of overlapping segments.

    .. math:: X_{fk} = \frac{1}{\sum_i w_i} \sum_i w_i x_{i + kh} e^{-2 \pi \mathrm{i} f i}

    Args:
      x: array of samples.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: as for `csd`.
      boundary: the extension by half a segment beyond the ends: 'zeros', 'even', 'odd',
        'constant', or None for no extension.
      padded: pad the signal with zeros to complete segments.
      axis: the time axis.

    Returns:
      (frequencies [F], times [T] of segments' middles, spectra: a complex array with F
      in place of `axis`, and T last).

    Raises:
      ValueError: an option is unknown, or sizes do not fit.

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
    """The static options of `istft`."""

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
    r"""Invert the short-time Fourier transform, in the sense of least squares.

    .. math:: x_i = \frac{\sum_k w_{i - kh} x^{(k)}_{i - kh}}{\sum_k w_{i - kh}^2}

    Args:
      Zxx: complex array with axes of frequencies and of segments, as `stft` returns it.
      fs, window, nperseg, noverlap, nfft: as for `stft`; by default 2 (F - 1) samples per
        segment, or F with `input_onesided=False`, and half of them shared.
      input_onesided: negative frequencies are omitted.
      boundary: remove the extension of the signal at its ends.
      time_axis, freq_axis: the axes of segments and frequencies.

    Returns:
      (times [T], an array with T in place of `time_axis`, real if `input_onesided`).

    Raises:
      ValueError: there are fewer than two axes, or sizes do not fit.

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
    else:  # the number of frequencies does not determine whether the size is odd
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
