"""Attention with a mask, under the names of JAX's kernel for TPUs that libraries import.

JAX implements it in Pallas, block by block.  Here XLA compiles ordinary operations for any
platform.  XLA chooses how to divide the work, so `BlockSizes` and similar options do not
change values.  Next: private.py.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import errors, tree
from ..control.calls.remat import checkpoint_name
from ..prims.dot.dot import dot_general
from ..prims.math.algebraic import div, mul, sub
from ..prims.math.cast import cast
from ..prims.math.elementary import exp, log, tanh
from ..prims.math.logic import eq, select
from ..prims.reduce.over_axes import reduce_max, reduce_sum
from ..prims.shape.shapes import broadcast_in_dim, expand_dims, reshape
from ..prims.stop_gradient import stop_gradient

DEFAULT_MASK_VALUE = -0.7 * float(np.finfo(np.float32).max)
Window = tuple[int | None, int | None]

# ------------------------------------------------------------------------------- masks


class Mask:
    """A boolean matrix of the keys (columns) that each query (row) attends to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Queries and keys, preceded by heads, if there are any."""
        raise NotImplementedError

    def full(self) -> np.ndarray:
        """Return the full mask."""
        raise NotImplementedError

    def __getitem__(self, at: Any) -> np.ndarray:
        return self.full()[at]

    def __bool__(self) -> bool:
        raise NotImplementedError(
            "Conversion to bool is unsupported. Could be caused by using logical instead"
            " of bitwise operations on masks."
        )

    def __or__(self, other: Mask) -> Mask:
        return LogicalOr(self, other)

    def __and__(self, other: Mask) -> Mask:
        return LogicalAnd(self, other)


class _ComputedMask(Mask):
    """A mask computed from the numbers of rows and columns."""

    def __init__(self, shape: tuple[int, int], *options: Any) -> None:
        self._shape = tuple(shape)
        self._options = options

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self._shape, self._options))


def _numbers(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = shape
    return np.arange(rows)[:, None], np.arange(columns)[None, :]


def make_causal_mask(shape: tuple[int, int], offset: int = 0) -> np.ndarray:
    """Return a mask of keys up to the query's own position, shifted by `offset`."""
    row, column = _numbers(shape)
    return row + offset >= column


def make_local_attention_mask(
    shape: tuple[int, int], window_size: Window, *, offset: int = 0
) -> np.ndarray:
    """Return a mask of keys in a window to the left and to the right (None: all)."""
    row, column = _numbers(shape)
    left, right = window_size
    mask = np.ones(tuple(shape), np.bool_)
    if left is not None:
        mask &= row + offset - left <= column
    if right is not None:
        mask &= row + offset + right >= column
    return mask


def make_chunk_attention_mask(shape: tuple[int, int], chunk_size: int) -> np.ndarray:
    """Return a mask of keys in the query's own chunk, up to its own position."""
    if chunk_size <= 0:
        raise ValueError("chunk_size must be positive")
    row, column = _numbers(shape)
    return (row // chunk_size == column // chunk_size) & (row >= column)


def make_random_mask(shape: tuple[int, int], sparsity: float, seed: int) -> np.ndarray:
    """Return a random mask that leaves out about a fraction `sparsity` of the keys."""
    draw = np.random.RandomState(seed)  # not NumPy's global generator, which is the user's
    return draw.binomial(1, 1.0 - sparsity, size=shape).astype(np.bool_)


class CausalMask(_ComputedMask):
    """See `make_causal_mask`."""

    def __init__(self, shape: tuple[int, int], offset: int = 0, shard_count: int = 1) -> None:
        super().__init__(shape, offset)
        self.offset = offset

    def full(self) -> np.ndarray:
        return make_causal_mask(self._shape, self.offset)  # type: ignore[arg-type]


class LocalMask(_ComputedMask):
    """See `make_local_attention_mask`."""

    def __init__(
        self, shape: tuple[int, int], window_size: Window, offset: int, shard_count: int = 1
    ) -> None:
        super().__init__(shape, tuple(window_size), offset)
        self.window_size = tuple(window_size)
        self.offset = offset

    def full(self) -> np.ndarray:
        left, right = self.window_size
        return make_local_attention_mask(
            self._shape,  # type: ignore[arg-type]
            (left, right),
            offset=self.offset,
        )


class ChunkedCausalMask(_ComputedMask):
    """See `make_chunk_attention_mask`."""

    def __init__(self, shape: tuple[int, int], chunk_size: int, shard_count: int = 1) -> None:
        if chunk_size <= 0:
            raise ValueError("chunk_size must be positive")
        super().__init__(shape, chunk_size)
        self.chunk_size = chunk_size

    def full(self) -> np.ndarray:
        return make_chunk_attention_mask(self._shape, self.chunk_size)  # type: ignore[arg-type]


class FullMask(_ComputedMask):
    """A mask of all keys."""

    def __init__(self, _shape: tuple[int, int]) -> None:
        if not isinstance(_shape, tuple):
            raise ValueError(f"Unsupported shape type: {type(_shape)}")
        super().__init__(_shape)

    def full(self) -> np.ndarray:
        return np.ones(self._shape, np.bool_)


class NumpyMask(Mask):
    """A mask that is an array of booleans."""

    def __init__(self, array: Any) -> None:
        array = np.asarray(array)
        if array.ndim != 2:
            raise ValueError(f"Expected a 2-dim array, instead got: {array.ndim=}")
        if array.dtype != np.bool_:
            raise ValueError("Mask must be a boolean array")
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def full(self) -> np.ndarray:
        return self.array

    def __eq__(self, other: object) -> bool:
        return type(other) is NumpyMask and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((NumpyMask, self.array.shape, self.array.tobytes()))


class _CombinedMask(Mask):
    """Two masks of one shape, combined elementwise."""

    how: Any

    def __init__(self, left: Mask, right: Mask) -> None:
        if left.shape != right.shape:
            raise ValueError("Masks must have the same shape")
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, ...]:
        return self.left.shape

    def full(self) -> np.ndarray:
        return type(self).how(self.left.full(), self.right.full())  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self.left, self.right))


class LogicalOr(_CombinedMask):
    """Keys in either mask."""

    how = staticmethod(operator.or_)


class LogicalAnd(_CombinedMask):
    """Keys in both masks."""

    how = staticmethod(operator.and_)


class MultiHeadMask(Mask):
    """A mask for each head."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        if not masks:
            raise ValueError("Unsupported empty tuple of masks")
        for mask in masks:
            if mask.shape != masks[0].shape:
                raise ValueError(
                    f"Unexpected mask shape, got: {mask.shape}, expected: {masks[0].shape}"
                )
        self.masks = tuple(masks)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.masks), *self.masks[0].shape)

    def full(self) -> np.ndarray:
        return np.stack([mask.full() for mask in self.masks])

    def __eq__(self, other: object) -> bool:
        return type(other) is MultiHeadMask and self.masks == other.masks

    def __hash__(self) -> int:
        return hash((MultiHeadMask, self.masks))


# --------------------------------------------------------------------------- attention


class SegmentIds(NamedTuple):
    """The segment of each query and each key; queries attend only within their segment."""

    q: Any
    kv: Any


class QKVLayout(enum.IntEnum):
    """The layout of operands in a TPU's memory."""

    HEAD_DIM_MINOR = enum.auto()
    SEQ_MINOR = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class BlockSizes:
    """How a TPU's kernel divides the work; no effect on values."""

    block_q: int
    block_kv: int
    block_kv_compute: int | None = None
    block_q_dkv: int | None = None
    block_kv_dkv: int | None = None
    block_kv_dkv_compute: int | None = None
    block_q_dq: int | None = None
    block_kv_dq: int | None = None
    use_fused_bwd_kernel: bool = False
    q_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    k_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    v_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR

    @classmethod
    def get_default(cls) -> BlockSizes:
        """Return sizes that suit any operands."""
        sizes: Any = [128] * 8
        return cls(*sizes)


def attend(
    mask: Any,
    q: Any,
    k: Any,
    v: Any,
    segment_ids: SegmentIds | None = None,
    sinks: Any = None,
    *,
    is_mqa: bool = False,
    save_residuals: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    residual_checkpoint_name: str | None = None,
) -> Any:
    """Compute softmax(q kᵀ, masked) v for each head; queries are not scaled.

    mask: (heads, queries, keys).
    q: (heads, queries, d); k, v: (heads, keys, d).  There may be fewer heads of keys, one
      per group of queries' heads, or with `is_mqa` a single one, (keys, d).
    sinks: (heads,), the logit of a key whose value is zero.
    """
    heads, n, _ = q.shape
    if is_mqa:
        k, v = expand_dims(k, [0]), expand_dims(v, [0])
    if k.ndim != 3 or heads % k.shape[0]:
        raise errors.value_error(
            f"Expected {q.shape[0]} heads of keys, or a divisor; got shape {k.shape}.",
            which=f"q {q.shape}, k {k.shape}, v {v.shape}",
        )
    groups = k.shape[0]
    grouped = lambda x: reshape(x, (groups, heads // groups, *x.shape[1:]))
    f32 = np.dtype(np.float32)
    logits = dot_general(
        grouped(q), k, (((3,), (2,)), ((0,), (0,))), preferred_element_type=f32
    )
    logits = reshape(logits, (heads, n, k.shape[1]))
    if attn_logits_soft_cap is not None:
        cap = np.float32(attn_logits_soft_cap)
        logits = mul(tanh(div(logits, cap)), cap)
    seen = mask
    if segment_ids is not None:
        broadcast = functools.partial(broadcast_in_dim, shape=logits.shape)
        seen = seen & eq(
            broadcast(segment_ids.q, broadcast_dimensions=(1,)),
            broadcast(segment_ids.kv, broadcast_dimensions=(2,)),
        )
    hidden = broadcast_in_dim(np.float32(mask_value), logits.shape, ())
    logits = select(seen, logits, hidden)
    wide = lambda x: broadcast_in_dim(x, logits.shape, (0, 1))
    most = reduce_max(logits, [2])
    if sinks is not None:
        sinks = broadcast_in_dim(cast(sinks, f32), most.shape, (0,))
        most = select(sinks > most, sinks, most)
    most = stop_gradient(most)
    weights = exp(sub(logits, wide(most)))
    total = reduce_sum(weights, [2])
    if sinks is not None:
        total = total + exp(sub(sinks, most))
    weights = grouped(div(weights, wide(total)))
    out = dot_general(
        cast(weights, v.dtype), v, (((3,), (1,)), ((0,), (0,))), preferred_element_type=f32
    )
    out = cast(reshape(out, (heads, n, v.shape[2])), q.dtype)
    if residual_checkpoint_name is not None:
        out = checkpoint_name(out, residual_checkpoint_name)
    return (out, (most + log(total),)) if save_residuals else out


class SplashAttentionKernel:
    """Attention with a fixed mask; a pytree with the mask as its leaf."""

    def __init__(self, mask: Any, **options: Any) -> None:
        self.mask = mask
        self.options = options

    def __call__(
        self, q: Any, k: Any, v: Any, segment_ids: SegmentIds | None = None, sinks: Any = None
    ) -> Any:
        return attend(self.mask, q, k, v, segment_ids, sinks, **self.options)

    def __repr__(self) -> str:
        return f"SplashAttentionKernel(mask={self.mask.shape}, {self.options})"


tree.register_pytree_node(
    SplashAttentionKernel,
    lambda kernel: ((kernel.mask,), tuple(kernel.options.items())),
    lambda options, masks: SplashAttentionKernel(masks[0], **dict(options)),
)


def make_splash_mha(
    mask: Any,
    *,
    block_sizes: BlockSizes | None = None,
    is_mqa: bool = False,
    save_residuals: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    downcast_smem_data: bool = True,
    head_shards: int,
    q_seq_shards: int,
    residual_checkpoint_name: str | None = None,
    interpret: bool = False,
) -> SplashAttentionKernel:
    """Return attention of several heads, with keys for each head or each group of heads.

    mask: (heads, queries, keys), a `MultiHeadMask` or an array.  Options for blocks, shards
    and the interpreter are for a TPU's kernel, and do not change values.
    """
    if len(mask.shape) != 3:
        raise ValueError(f"Unexpected mask shape: {mask.shape}")
    mask_array = mask.full() if isinstance(mask, Mask) else mask
    return SplashAttentionKernel(
        mask_array,
        is_mqa=is_mqa,
        save_residuals=save_residuals,
        mask_value=mask_value,
        attn_logits_soft_cap=attn_logits_soft_cap,
        residual_checkpoint_name=residual_checkpoint_name,
    )


make_splash_mqa = functools.partial(make_splash_mha, is_mqa=True)
_ONE: Any = {"head_shards": 1, "q_seq_shards": 1}
make_splash_mha_single_device = functools.partial(make_splash_mha, **_ONE)
make_splash_mqa_single_device = functools.partial(make_splash_mqa, **_ONE)
