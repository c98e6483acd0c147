"""Arrays on disk: by TensorStore alone, and by orbax-checkpoint in several processes."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import colocated_python as colocated
from minijax.experimental.array_serialization import serialization as stored
from tests.processes.starting import LIMIT, environment

FOLDER = pathlib.Path(__file__).parent
stores = pytest.mark.skipif(
    importlib.util.find_spec("tensorstore") is None, reason="tensorstore is not installed"
)
checkpoints = pytest.mark.skipif(
    importlib.util.find_spec("orbax") is None, reason="orbax-checkpoint is not installed"
)


def over(*spec):
    return mj.NamedSharding(mj.make_mesh((2, 4), ("x", "y")), mj.P(*spec))


@stores
def test_arrays_are_stored_and_read_on_other_devices(tmp_path):
    """The files, and what is read of them: recorded from JAX 0.10.2."""
    x = mj.device_put(jnp.arange(8.0), over("x"))
    path = str(tmp_path / "a")
    stored.run_serialization([x], [stored.get_tensorstore_spec(path)])
    metadata = json.loads((tmp_path / "a" / ".zarray").read_text())
    assert (metadata["chunks"], metadata["shape"], metadata["dtype"]) == ([4], [8], "<f4")
    assert metadata["compressor"]["id"] == "zstd"

    def read(sharding, **how):
        spec = [stored.get_tensorstore_spec(path)]
        (result,) = stored.run_deserialization([sharding], spec, **how)
        assert result.committed
        assert result.sharding == sharding
        return result.tolist()

    assert read(over(("x", "y"))) == [*range(8)]
    assert read(mj.sharding.SingleDeviceSharding(mj.devices()[3])) == [*range(8)]
    longer = read(over("y"), global_shapes=[(12,)], dtypes=[np.int32])
    assert longer == [*range(8), 0, 0, 0, 0]
    assert read(over("x"), global_shapes=[(4,)]) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="should evenly divide"):
        read(over("x"), global_shapes=[(7,)])
    path += "bsent"
    with pytest.raises(ValueError, match="NOT_FOUND"):
        read(over("x"))


@stores
def test_a_manager_stores_while_the_program_continues(tmp_path):
    x = mj.device_put(jnp.arange(8.0), over("x"))
    values = [x.astype("bfloat16").reshape(4, 2), x > 3, jnp.float32(3)]
    paths = [str(tmp_path / name) for name in "bcs"]
    manager, done = stored.GlobalAsyncCheckpointManager(), []
    manager.serialize_with_paths(values, paths, on_commit_callback=lambda: done.append(1))
    manager.wait_until_finished()
    assert done == [1]
    result = manager.deserialize_with_paths([over("y"), over("y"), over()], paths)
    for a, b in zip(result, values, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    spec = lambda: [stored.get_tensorstore_spec(tmp_path / "o" / "w", ocdbt=True)]
    manager.serialize([x], spec())
    assert manager.deserialize([over()], spec())[0].tolist() == x.tolist()
    (tmp_path / "f").write_text("in the way")
    manager.serialize_with_paths([x], [str(tmp_path / "f" / "x")])
    with pytest.raises(ValueError, match="zarr"):
        manager.wait_until_finished()


@pytest.mark.parametrize(
    "path, ocdbt, where",
    [
        ("/tmp/a/b", False, {"driver": "file", "path": "/tmp/a/b"}),
        (
            "/tmp/a/b",
            True,
            {"driver": "ocdbt", "base": {"driver": "file", "path": "/tmp/a"}, "path": "b"},
        ),
        ("gs://x/y/b", False, {"driver": "gcs", "bucket": "x", "path": "y/b"}),
        (
            "gs://x/y/b",
            True,
            {
                "driver": "ocdbt",
                "path": "b",
                "base": {"driver": "gcs", "bucket": "x", "path": "y"},
            },
        ),
    ],
)
def test_places_of_arrays(path, ocdbt, where):
    """Recorded from JAX 0.10.2."""
    spec = stored.get_tensorstore_spec(path, ocdbt=ocdbt)
    assert spec == {"driver": "zarr", "kvstore": where}
    assert stored.is_remote_storage(spec) == path.startswith("gs")


def test_places_that_are_none():
    with pytest.raises(ValueError, match="Checkpoint path should be absolute"):
        stored.get_tensorstore_spec("a/b", ocdbt=True)
    with pytest.raises(ValueError, match="bucket name and the file path"):
        stored.get_tensorstore_spec("gs://x")


@checkpoints
def test_a_killed_writer_leaves_the_last_checkpoint_complete(tmp_path):
    def launch(doing, n):
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "minijax.launch",
                "-n",
                str(n),
                "--devices-per-process",
                str(8 // n),
                "--alias",
                str(FOLDER / "checkpoints.py"),
                doing,
                str(tmp_path / "run"),
            ],
            text=True,
            capture_output=True,
            timeout=LIMIT,
            env=environment(),
        )

    saved = launch("save", 2)
    assert "killed" in saved.stdout, saved
    assert saved.returncode
    restored = launch("restore", 4)
    assert restored.returncode == 0, restored
    assert restored.stdout.count("restored 1 P('b', 'a') 4") == 4


# --------------------------------------------------------------------- beside devices


def test_colocated_functions():
    x = mj.device_put(jnp.arange(8.0), over("x"))
    seen = []

    @colocated.colocated_python
    def f(x):
        seen.append(x)
        return x * 2

    assert f(x).tolist() == (x * 2).tolist()
    assert seen[0] is x
    with pytest.raises(ValueError, match="must be first specialized with devices"):
        colocated.colocated_python(lambda: 1)()
    one = colocated.colocated_python(lambda: jnp.ones(2)).specialize(devices=mj.devices()[2:3])
    assert one().devices() == {mj.devices()[2]}
    narrow = f.specialize(out_specs_fn=lambda x: mj.ShapeDtypeStruct((2,), x.dtype))
    with pytest.raises(ValueError, match="do not match out_specs_fn"):
        narrow(x)
    with pytest.raises(ValueError, match="the same devices"):
        colocated.colocated_python(lambda x, y: x)(x, mj.device_put(1.0, mj.devices()[0]))
    mesh = x.sharding.mesh
    assert colocated.colocated_cpu_devices(mesh) == mesh
    assert colocated.colocated_cpu_devices(mj.devices()[:3]) == mj.devices()[:3]


def test_colocated_objects():
    made = []

    @colocated.colocated_python_class
    class Count:
        def __init__(self, start):
            made.append(start)
            self.n = start

        def add(self, x):
            self.n = self.n + x
            return self.n

    count, one = Count(1), mj.device_put(2.0, mj.devices()[1])
    assert made == []
    assert [float(count.add(one)), float(count.add(one))] == [3, 5]
    assert made == [1]
    with pytest.raises(AttributeError):
        count.n
