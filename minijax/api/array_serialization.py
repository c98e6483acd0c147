"""Arrays on disk, by TensorStore: each process writes and reads its own shards.

An array is stored in chunks of one shard each, so that no two processes write to the same
file.  It can be read with any other sharding.  TensorStore is imported at its first use:
`pip install minijax[checkpoint]`.  Next: checkpoint_managers.py.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import re
from collections.abc import Awaitable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..base import errors
from ..runtime.backends import client
from ..runtime.sharding import shardings
from ..runtime.sharding.layouts import Format
from ..types import dtypes
from .devices import device_put
from .make_array import make_array_from_single_device_arrays

if TYPE_CHECKING:
    from types import ModuleType

    from ..runtime.arrays.array import Array
    from ..runtime.sharding.shardings import Sharding
    from ..types.aliases import DTypeLike


@functools.cache
def tensorstore() -> ModuleType:
    """Import the library that stores arrays."""
    try:
        return importlib.import_module("tensorstore")
    except ImportError:
        raise errors.error(
            ImportError,
            "Arrays cannot be stored: tensorstore is not installed.",
            tries=["pip install minijax[checkpoint]"],
        ) from None


@functools.cache
def default() -> Any:
    """Return the TensorStore context for all arrays that this module stores."""
    return tensorstore().Context({"file_io_concurrency": {"limit": 128}})


_REMOTE = re.compile(r"(gs|s3)://([^/]+)/(.+)")


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Array | None = None,
    driver: str = "zarr",
) -> dict[str, Any]:
    """Return the TensorStore spec of an array: where and how it is stored.

    Args:
      ckpt_path: a path (absolute, for `ocdbt`), or one that begins with gs:// or s3://.
      ocdbt: keep many arrays in one database, in the directory of the path; the path's last
        component is the array's name in it.
      process_idx: the process whose own database it is, if databases are merged later.
      arr: the array, to include its shape and dtype.
      driver: TensorStore's array format, 'zarr' or 'zarr3'.

    Returns:
      A dict.

    Raises:
      ValueError: the path is not absolute, or does not name a bucket and an object.

    Example:
      >>> get_tensorstore_spec('/tmp/a/b')['kvstore']
      {'driver': 'file', 'path': '/tmp/a/b'}
    """
    path = os.fspath(ckpt_path).rstrip("/")
    folder, name = os.path.split(path)
    if process_idx is not None:
        folder = f"{folder}/ocdbt.process_{process_idx}"
    if ocdbt and "://" not in path and not os.path.isabs(path):
        raise errors.value_error(
            f"Checkpoint path should be absolute. Got {path}", tries=["os.path.abspath(path)"]
        )
    kvstore = _kvstore(folder if ocdbt else path)
    if ocdbt:
        kvstore = {"driver": "ocdbt", "base": kvstore, "path": name}
    spec: dict[str, Any] = {"driver": driver, "kvstore": kvstore}
    if arr is not None:
        spec["metadata"] = _metadata(arr, driver)
        spec["dtype"] = _stored_dtype(arr.dtype)
    return spec


def _kvstore(path: str) -> dict[str, Any]:
    if "://" in path:
        match = _REMOTE.fullmatch(path)
        if match is None:
            raise errors.value_error(
                "The ckpt_path should contain the bucket name and the file path inside the"
                f" bucket. Got: {path}",
                tries=["'gs://bucket/path'", "'s3://bucket/path'"],
            )
        kind = {"gs": "gcs", "s3": "s3"}[match[1]]
        return {"driver": kind, "bucket": match[2], "path": match[3]}
    return {"driver": "file", "path": path}


def is_remote_storage(tspec: dict[str, Any] | str) -> bool:
    """Whether a spec or path refers to storage on another machine.

    Args:
      tspec: a TensorStore spec, or a path.

    Returns:
      A bool.

    Example:
      >>> is_remote_storage('gs://bucket/a'), is_remote_storage('/tmp/a')
      (True, False)
    """
    if isinstance(tspec, str):
        return bool(re.match(r"(gs|s3)://", tspec))
    if tspec.get("driver") in ("gcs", "s3", "http"):
        return True
    inner = (tspec[key] for key in ("base", "kvstore") if key in tspec)
    return any(map(is_remote_storage, inner))


def _stored_dtype(dtype: Any) -> str:
    return "bool" if dtypes.is_bool(dtype) else np.dtype(dtype).name


def _metadata(arr: Any, driver: str = "zarr") -> dict[str, Any]:
    """Return the metadata of an array for TensorStore: its shape, in chunks of one shard."""
    shard_shape = [max(1, n) for n in arr.sharding.shard_shape(tuple(arr.shape))]
    if driver == "zarr3":
        grid = {"name": "regular", "configuration": {"chunk_shape": shard_shape}}
        return {"shape": list(arr.shape), "chunk_grid": grid}
    return {"compressor": {"id": "zstd"}, "shape": list(arr.shape), "chunks": shard_shape}


def _completed(spec: Any, arr: Any) -> Any:
    """Add the metadata of a new array to a spec that lacks it."""
    if not isinstance(spec, dict):
        return spec
    if "metadata" not in spec:
        spec["metadata"] = _metadata(arr, spec.get("driver", "zarr"))
    spec.setdefault("dtype", _stored_dtype(arr.dtype))
    return spec


async def async_serialize(
    arr_inp: Array,
    tensorstore_spec: dict[str, Any],
    commit_future: list[Any] | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: Any = None,
) -> None:
    """Store the shards of an array that this process holds.

    Args:
      arr_inp: the array.
      tensorstore_spec: where and how, see `get_tensorstore_spec`; missing metadata of the
        array is added to it.
      commit_future: a list that receives futures of the writes; None: wait for them.
      context: TensorStore's context; None: `TS_CONTEXT`.
      chunk_layout: TensorStore's layout of chunks within those of the spec.
      primary_host: the process that creates the files; None: every process does, each on
        its own disk.
      replica_id: the number of the replica that is written, among equal shards.
      transaction: the TensorStore transaction that the writes belong to.

    Returns:
      None, when the shards have been copied.

    Raises:
      ValueError: TensorStore cannot store the array this way.

    Example:
      >>> import asyncio, minijax as mj
      >>> spec = get_tensorstore_spec('/tmp/x')
      >>> asyncio.run(async_serialize(mj.numpy.ones(2), spec))  # doctest: +SKIP
    """
    ts = tensorstore()
    spec = ts.Spec(_completed(tensorstore_spec, arr_inp))
    if chunk_layout is not None:
        spec.update(chunk_layout=chunk_layout)
    options = {"context": context or default(), "transaction": transaction}
    first = primary_host is None or client.backend().process_index() == primary_host
    if first:
        # The array's metadata must exist before any shard is written.
        created = ts.open(spec, create=True, open=True, **options)
        if commit_future is not None and transaction is None:
            commit_future.append(created)
        else:
            await created
    # Other processes may not see the metadata yet, so they are taken from the spec.
    store = await ts.open(spec, open=True, assume_metadata=True, **options)
    writes = []
    for shard in arr_inp.addressable_shards:
        if shard.replica_id == replica_id:
            writes.append(
                store[shard.index].write(
                    np.asarray(shard.data), can_reference_source_data_indefinitely=True
                )
            )
    for write in writes:
        if commit_future is not None and transaction is None:
            commit_future.append(write.commit)
            await write.copy
        else:
            await write.commit


class _ByteLimiter:
    """A budget of host memory, in bytes: `take` waits until enough is left."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.available = capacity
        self.changed = asyncio.Condition()

    async def take(self, n: int) -> None:
        async with self.changed:
            # A request larger than the budget waits for all of it, and runs alone.
            await self.changed.wait_for(lambda: min(n, self.capacity) <= self.available)
            self.available -= n

    async def give(self, n: int) -> None:
        async with self.changed:
            self.available += n
            self.changed.notify_all()


async def async_deserialize(
    in_type: Sharding | Format,
    tensorstore_spec: dict[str, Any],
    global_shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    byte_limiter: _ByteLimiter | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    assume_metadata: bool = False,
) -> Array:
    """Read a stored array: each process reads the shards that it will hold.

    Args:
      in_type: the sharding or `Format` of the result; or a `ShapeDtypeStruct` with one,
        which also sets the shape and dtype of the result.
      tensorstore_spec: where it is, see `get_tensorstore_spec`.
      global_shape: the shape of the result; the stored array is truncated or padded with
        zeros to it; None: the stored shape.
      dtype: the dtype of the result; None: the stored dtype.
      byte_limiter: an object with coroutines `take(n)` and `give(n)` that limits how many
        bytes are read at a time.
      context: TensorStore's context; None: `TS_CONTEXT`.
      chunk_layout: TensorStore's chunk layout for reading.
      assume_metadata: trust the metadata in the spec instead of reading the stored ones.

    Returns:
      An array.

    Raises:
      ValueError: nothing is stored there, or it does not fit the sharding.

    Example:
      >>> import asyncio, minijax as mj
      >>> where = mj.numpy.ones(2).sharding
      >>> spec = get_tensorstore_spec('/tmp/x')
      >>> asyncio.run(async_deserialize(where, spec))  # doctest: +SKIP
    """
    ts = tensorstore()
    if not isinstance(in_type, (shardings.Sharding, Format)):
        global_shape = in_type.shape if global_shape is None else global_shape
        dtype = in_type.dtype if dtype is None else dtype
        in_type = in_type.sharding
    sharding: Any = in_type.sharding if isinstance(in_type, Format) else in_type
    spec = ts.Spec(tensorstore_spec)
    if chunk_layout is not None:
        spec.update(chunk_layout=chunk_layout)
    store = await ts.open(
        spec, open=True, assume_metadata=assume_metadata, context=context or default()
    )
    shape = tuple(store.shape if global_shape is None else global_shape)
    if len(shape) != store.ndim:
        raise errors.value_error(
            f"global_shape={shape} and the stored shape {tuple(store.shape)} differ in rank."
        )
    kind = np.dtype(store.dtype.numpy_dtype if dtype is None else dtype)  # type: ignore[arg-type]

    async def read_shard(device: Any, at: tuple[slice, ...]) -> Any:
        requested_domain = ts.IndexTransform(input_shape=shape)[at].domain
        stored_domain = requested_domain.intersect(store.domain)
        value = np.zeros(requested_domain.shape, store.dtype.numpy_dtype)
        inner = ts.array(value)[ts.d[:].translate_to[requested_domain.origin]][stored_domain]
        if byte_limiter is not None:
            await byte_limiter.take(value.nbytes)
        try:
            await inner.write(store[stored_domain])
            one = device_put(
                value.astype(kind, copy=False),
                shardings.SingleDeviceSharding(device, memory_kind=sharding.memory_kind),
            )
            one.block_until_ready()
        finally:
            if byte_limiter is not None:
                await byte_limiter.give(value.nbytes)
        return one

    indices = sharding.addressable_devices_indices_map(shape)
    shards = await asyncio.gather(*(read_shard(d, at) for d, at in indices.items()))
    return make_array_from_single_device_arrays(
        shape, sharding, shards, dtype=dtypes.canonical(kind)
    )


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def _all(work: Sequence[Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*work))


def run_serialization(arrays: Sequence[Any], tensorstore_specs: Sequence[Any]) -> None:
    """Store the shards of arrays that this process holds, and wait until they are on disk.

    Args:
      arrays: the arrays.
      tensorstore_specs: where each array is stored.

    Returns:
      None.

    Raises:
      ValueError: TensorStore cannot store an array this way.

    Example:
      >>> import minijax as mj
      >>> run_serialization(
      ...     [mj.numpy.ones(2)], [get_tensorstore_spec('/tmp/x')])  # doctest: +SKIP
    """
    pairs = zip(arrays, tensorstore_specs, strict=True)
    _run(_all([async_serialize(x, spec) for x, spec in pairs]))


def run_deserialization(
    shardings: Sequence[Any],
    tensorstore_specs: Sequence[Any],
    global_shapes: Sequence[Any] | None = None,
    dtypes: Sequence[Any] | None = None,
    concurrent_gb: int = 32,
) -> list[Any]:
    """Read arrays: each process reads the shards that it will hold.

    Args:
      shardings: the sharding of each array.
      tensorstore_specs: where each array is stored.
      global_shapes: the shape of each; None: as stored.
      dtypes: the dtype of each; None: as stored.
      concurrent_gb: how many gigabytes are read at a time.

    Returns:
      A list of arrays.

    Raises:
      ValueError: nothing is stored there, or it does not fit the sharding.

    Example:
      >>> import minijax as mj
      >>> run_deserialization(
      ...     [mj.numpy.ones(2).sharding],
      ...     [get_tensorstore_spec('/tmp/x')])  # doctest: +SKIP
    """
    n = len(tensorstore_specs)

    async def read() -> list[Any]:
        limiter = _ByteLimiter(concurrent_gb * 10**9)
        requests = zip(
            shardings,
            tensorstore_specs,
            global_shapes or [None] * n,
            dtypes or [None] * n,
            strict=True,
        )
        return await _all(
            [
                async_deserialize(sharding, spec, shape, dtype, limiter)
                for sharding, spec, shape, dtype in requests
            ]
        )

    return cast("list[Any]", _run(read()))
