"""Requirements of the Python array API standard (2025.12), besides values."""

import inspect

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp

X = jnp.arange(6.0).reshape(2, 3)
DEVICE = mj.devices()[0]


def test_namespace():
    assert jnp.__array_api_version__ == "2025.12"
    for version in (None, "2021.12", "2024.12", "2025.12"):
        assert X.__array_namespace__(api_version=version) is jnp
    with pytest.raises(ValueError, match="available versions are"):
        X.__array_namespace__(api_version="1999.12")


def test_info():
    info = jnp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": False,
        "data-dependent shapes": False,
        "max dimensions": 64,
    }
    assert info.default_device() is None
    assert info.devices() == [None, *mj.devices()]
    for kind, bits in {"real floating": 32, "integral": 32, "complex floating": 64}.items():
        assert info.default_dtypes(device=DEVICE)[kind].itemsize * 8 == bits
    assert jnp.zeros(1, info.default_dtypes()["indexing"]).dtype == jnp.argmax(X).dtype
    with mj.enable_x64(True):
        wide = info.default_dtypes()
        assert set(map(str, wide.values())) == {"float64", "complex128", "int64"}


SIGNED = {"int8", "int16", "int32"}
UNSIGNED = {"uint8", "uint16", "uint32"}
KINDS = {
    "bool": {"bool"},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED | UNSIGNED,
    "real floating": {"float32"},
    "complex floating": {"complex64"},
    "numeric": SIGNED | UNSIGNED | {"float32", "complex64"},
    None: SIGNED | UNSIGNED | {"float32", "complex64", "bool"},
    ("bool", "real floating"): {"bool", "float32"},
    (): set(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes(kind):
    result = jnp.__array_namespace_info__().dtypes(kind=kind)
    assert set(result) == KINDS[kind]
    assert all(result[name] == np.dtype(name) for name in result)


def test_dtypes_of_64_bits():
    info = jnp.__array_namespace_info__()
    with mj.enable_x64(True):
        assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    with pytest.raises(KeyError, match="no kind of dtypes is called 'foo'"):
        info.dtypes(kind="foo")


CREATE = {
    "arange": (3,),
    "asarray": ([1, 2],),
    "empty": (2,),
    "empty_like": (X,),
    "eye": (2,),
    "full": ((2,), 1),
    "full_like": (X, 1),
    "linspace": (0, 1, 3),
    "ones": (2,),
    "ones_like": (X,),
    "zeros": (2,),
    "zeros_like": (X,),
    "fft.fftfreq": (4,),
    "fft.rfftfreq": (4,),
}


@pytest.mark.parametrize("name", CREATE)
def test_creation(name):
    module = jnp.fft if name.startswith("fft.") else jnp
    fun = getattr(module, name.removeprefix("fft."))
    out = fun(*CREATE[name], dtype=jnp.complex64, device=DEVICE)
    assert out.dtype == jnp.complex64
    assert out.device == DEVICE
    assert out.committed
    assert not fun(*CREATE[name], device=None).committed


def test_tuples():
    for made in (
        jnp.broadcast_arrays(X, X[0]),
        jnp.meshgrid(X[0], X[0]),
        jnp.unstack(X),
        jnp.nonzero(X),
        jnp.broadcast_arrays(),
        jnp.meshgrid(),
    ):
        assert type(made) is tuple


def test_repeat_and_searchsorted():
    assert jnp.repeat(jnp.arange(3), 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert jnp.repeat(jnp.arange(3), jnp.asarray([1, 0, 2])).tolist() == [0, 2, 2]
    assert jnp.repeat(X, jnp.asarray(2), axis=-2).shape == (4, 3)
    assert jnp.searchsorted(jnp.arange(4.0), 1.5) == 2
    assert jnp.searchsorted(jnp.arange(4.0), 1, side="right") == 2
    order = jnp.asarray([1, 2, 0])
    assert jnp.searchsorted(jnp.asarray([3, 1, 2]), 2, sorter=order) == 1


def test_dlpack():
    kind, number = X.__dlpack_device__()
    assert (kind.name, kind, number) == ("kDLCPU", 1, 0)
    assert isinstance(kind, int)
    for options in (
        {},
        {"copy": True},
        {"copy": False, "dl_device": (1, 0)},
        {"stream": None, "max_version": (1, 0), "dl_device": (kind, 0), "copy": None},
    ):
        assert "dltensor" in repr(X.__dlpack__(**options))
    with pytest.raises(BufferError, match="copy=False, but"):
        X.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="there is no"):
        X.__dlpack__(dl_device=(1, 7))
    with pytest.raises(ValueError, match="3 is not a valid DLDeviceType"):
        X.__dlpack__(dl_device=(3, 0))
    for take in (np.from_dlpack, jnp.from_dlpack):  # what a key holds is not shown
        with pytest.raises(TypeError, match="PRNGKey dtype cannot be converted"):
            take(mj.random.key(0))
    assert np.from_dlpack(X, device="cpu", copy=True).tolist() == X.tolist()
    shared = jnp.from_dlpack(X, device=DEVICE, copy=False)
    assert shared.unsafe_buffer_pointer() == X.unsafe_buffer_pointer()
    other = jnp.from_dlpack(X, copy=True)
    assert other.unsafe_buffer_pointer() != X.unsafe_buffer_pointer()


def test_signatures_of_methods():
    for name, count in {"__setitem__": 3, "__getitem__": 2, "__add__": 2}.items():
        method = getattr(type(X), name)
        required = [
            p for p in inspect.signature(method).parameters.values() if p.default is p.empty
        ]
        assert len(required) == count
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        X[0] = 1.0
    assert "stream" in inspect.signature(type(X).to_device).parameters
