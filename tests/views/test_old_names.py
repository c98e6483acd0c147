"""Names that warn on every use, and names that were removed.

The sentences are recorded from JAX 0.10.2.
"""

import importlib

import pytest

import minijax as jax  # noqa: F401


def module(name):
    return importlib.import_module(name.replace("jax", "minijax", 1))


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("jax.core.CallPrimitive", " Use jax.extend.core.CallPrimitive."),
        ("jax.core.find_top_trace", " Use jax.extend.core.find_top_trace."),
        ("jax.core.no_effects", " Use jax.extend.core.no_effects."),
        ("jax.core.JaxprTypeError", " Use jax.errors.JaxprTypeError."),
        ("jax.core.trace_ctx", ""),
        ("jax.core.literalable_types", ""),
        ("jax.interpreters.pxla.Index", ""),
        ("jax.interpreters.pxla.MeshAxisName", " Use jax.sharding.Mesh axis names directly."),
        ("jax.interpreters.pxla.thread_resources", " Please switch to using"),
    ],
)
def test_names_that_warn(name, rest):
    public, _, short = name.rpartition(".")
    since = " as of JAX v0.8.2." if "pxla" in name else "."
    for _ in range(2):  # each time
        with pytest.warns(DeprecationWarning) as seen:
            getattr(module(public), short)
        assert str(seen[0].message).startswith(f"{name} is deprecated{since}{rest}")
        assert seen[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("jax.core.traverse_jaxpr_params", "was deprecated in JAX v0.8.2 and removed"),
        ("jax.interpreters.ad.reducing_transposes", "was deprecated in v0.9.0. and removed"),
        ("jax.interpreters.batching.NotMapped", "is deprecated"),
        ("jax.interpreters.pxla.parallel_callable", "was removed in JAX v0.10.0"),
        ("jax.interpreters.pxla.spec_to_indices", "Please use `jax.shard_map`"),
        ("jax.cloud_tpu_init.cloud_tpu_init", "JAX calls this function automatically"),
    ],
)
def test_names_that_were_removed(name, message):
    public, _, short = name.rpartition(".")
    with pytest.raises(AttributeError, match=message):
        getattr(module(public), short)
    assert short not in module(public).__all__
