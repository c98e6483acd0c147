"""Compiled programs as bytes, and where compiled programs are kept."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental import serialize_executable as se
from minijax.experimental.compilation_cache import compilation_cache
from minijax.runtime.running import compile as compiler
from minijax.sharding import Mesh, NamedSharding
from minijax.sharding import PartitionSpec as P

X = np.arange(4, dtype=np.float32)


def again(compiled, **options):
    return se.deserialize_and_load(*se.serialize(compiled), **options)


@pytest.fixture(scope="module")
def compiled():
    fun = lambda x, y, *, z: {"a": x + y["b"] * z, "n": 3}
    return mj.jit(fun).lower(X, {"b": X, "unused": 1}, z=X).compile()


def test_call(compiled):
    read = again(compiled)
    call = lambda f: f(X, {"b": X, "unused": 1}, z=X)
    assert call(read)["a"].tolist() == call(compiled)["a"].tolist() == (X + X * X).tolist()
    assert type(read) is type(compiled) and read.args_info == compiled.args_info
    assert read.in_tree == compiled.in_tree and read.out_tree == compiled.out_tree
    assert read.as_text().startswith("HloModule") and read.cost_analysis()["flops"] > 0
    assert read.input_shardings[0][1]["unused"] is None
    assert read.output_shardings == compiled.output_shardings
    assert call(again(read))["a"].tolist() == (X + X * X).tolist()  # written once more
    with pytest.raises(TypeError, match="does not match the input pytree"):
        read(X, X)
    with pytest.raises(TypeError, match=r"Argument 'args\[0\]' compiled with float32\[4\]"):
        read(X[:2], {"b": X, "unused": 1}, z=X)


def test_what_it_closes_over_and_donates():
    held = jnp.arange(4.0)
    assert again(mj.jit(lambda x: x + held).lower(X).compile())(X).tolist() == (2 * X).tolist()
    read = again(mj.jit(lambda x: x - 1, donate_argnums=0).lower(X).compile())
    x = jnp.asarray(X)
    assert read(x).tolist() == (X - 1).tolist() and x.is_deleted()
    assert read.donate_argnums == (0,)


def test_over_devices():
    mesh = Mesh(np.array(mj.devices()[:4]).reshape(2, 2), ("x", "y"))
    over = lambda *spec: NamedSharding(mesh, P(*spec))
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    fun = mj.jit(lambda x: x @ x.T, in_shardings=over("x", "y"), out_shardings=over("x"))
    read = again(fun.lower(x).compile())
    result = read(mj.device_put(x, over("x", "y")))
    assert result.sharding == over("x") and result.tolist() == (x @ x.T).tolist()
    assert read.input_shardings[0][0] == over("x", "y")
    with pytest.raises(ValueError, match="the program needs devices"):
        again(fun.lower(x).compile(), execution_devices=mj.devices()[:2])


def test_on_another_device():
    (device,) = mj.devices()[2:3]
    read = again(mj.jit(jnp.cos).lower(X).compile(), execution_devices=[device])
    assert read(X).devices() == {device}


def test_what_lives_in_this_process():
    sin = lambda x: mj.pure_callback(np.sin, x, x)
    ref = mj.new_ref(jnp.zeros(4))

    def writes(x):
        ref[...] = x
        return x

    for fun, text in ((sin, "does not support serialization"), (writes, "mutable array ref")):
        with pytest.raises(ValueError, match=text):
            se.serialize(mj.jit(fun).lower(X).compile())


def test_serialized_programs_on_disk(tmp_path):
    """In another directory the program is compiled anew, and found after a reset."""
    code = f"""
import numpy as np, minijax as mj
from minijax.experimental.compilation_cache import compilation_cache as cc
from minijax.experimental import serialize_executable as se
from minijax.runtime.running.compile import statistics
x = np.arange(4.0, dtype="float32")
cc.set_cache_dir({str(tmp_path)!r})
compiled = lambda: mj.jit(lambda x: x * 5 - 1).lower(x).compile()
compiled(); first = statistics.compiled, statistics.loaded
cc.reset_cache(); loaded = compiled(); then = statistics.compiled, statistics.loaded
assert first[0] >= 1 and then == (first[0], first[1] + 1), (first, then)
read = se.deserialize_and_load(*se.serialize(loaded))  # of a program that was found
assert read(x).tolist() == (x * 5 - 1).tolist()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(tmp_path.rglob("*"))
    assert compilation_cache.reset_cache is compiler.reset_cache


def test_lapack_is_registered_for_deserialized_programs(tmp_path):
    """A process that never lowered a decomposition reads, calls and compiles them."""
    singular = mj.jit(lambda x: jnp.linalg.svd(x)[1])
    x = np.diag(np.arange(1, 3, dtype=np.float32))
    written = {
        "exported": mj.export.export(singular)(x).serialize(),
        "compiled": se.serialize(singular.lower(x).compile()),
    }
    (tmp_path / "programs").write_bytes(pickle.dumps(written))
    code = """
import pickle, sys, numpy as np, minijax as mj
from minijax.experimental import serialize_executable as se
x = np.diag(np.arange(1, 3, dtype=np.float32))
what, name = sys.argv[2], "lapack_spotrf_ffi"
written = pickle.load(open(sys.argv[1], "rb"))
if what == "exported":
    found = mj.export.deserialize(written[what]).call(x)
elif what == "compiled":
    found = se.deserialize_and_load(*written[what])(x)
else:
    shapes = mj.ShapeDtypeStruct((2, 2), "float32"), mj.ShapeDtypeStruct((), "int32")
    found = mj.ffi.ffi_call(name, shapes)(x * x, uplo=np.uint8(ord("L")))[0].sum(0)[::-1]
assert found.tolist() == [2, 1], found
"""
    for what in (*written, "called by name"):
        command = [sys.executable, "-c", code, str(tmp_path / "programs"), what]
        subprocess.run(command, check=True)
