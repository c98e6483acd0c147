"""Foreign functions: a C++ kernel built here, called, mapped, and refused a derivative.

Texts, jaxprs and attributes are recorded from JAX 0.10.2.
"""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import ffi
from minijax.control.callbacks.ffi_call import FrozenDict
from minijax.control.calls.composite import HashableArray
from minijax.extend import core as jex_core
from minijax.interpreters import mlir
from minijax.ir.core import Primitive

SOURCE = r"""
#include <cstdint>
#include <numeric>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

static int64_t calls = 0;
extern "C" int64_t Calls() { return calls; }

// y = scale * x + the sum of shifts; counts calls.
ffi::Error Scaled(float scale, ffi::Span<const int32_t> shifts, F32 x,
                  ffi::ResultBuffer<ffi::F32> y) {
  ++calls;
  if (scale == 0) return ffi::Error::InvalidArgument("no scale");
  int shift = std::accumulate(shifts.begin(), shifts.end(), 0);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = scale * x.typed_data()[i] + shift;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(scaled, Scaled, ffi::Ffi::Bind()
    .Attr<float>("scale").Attr<ffi::Span<const int32_t>>("shifts")
    .Arg<F32>().Ret<F32>());

// The elements as they lie in memory, each by the sum of the second operand's; the rank.
ffi::Error Flat(F32 x, F32 w, ffi::ResultBuffer<ffi::F32> y,
                ffi::ResultBuffer<ffi::S32> n) {
  float by = std::accumulate(w.typed_data(), w.typed_data() + w.element_count(), 0.f);
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = by * x.typed_data()[i];
  *n->typed_data() = x.dimensions().size();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(flat, Flat, ffi::Ffi::Bind()
    .Arg<F32>().Arg<F32>().Ret<F32>().Ret<ffi::Buffer<ffi::S32>>());

// Adds to what the result's memory holds.
ffi::Error More(ffi::AnyBuffer, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < y->element_count(); ++i) y->typed_data()[i] += 5;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(more, More, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<F32>());

// State that lives as long as the program.
struct State { static ffi::TypeId id; static ffi::TypeInfo info; int32_t value; };
ffi::TypeId State::id = {};
ffi::TypeInfo State::info = ffi::MakeTypeInfo<State>();
static ffi::ErrorOr<std::unique_ptr<State>> Begin(int32_t start) {
  return std::make_unique<State>(State{start});
}
static ffi::Error Next(State* state, int32_t, ffi::ResultBuffer<ffi::S32> y) {
  *y->typed_data() = state->value++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(begin, Begin,
    ffi::Ffi::BindInstantiate().Attr<int32_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(next, Next,
    ffi::Ffi::Bind().Ctx<ffi::State<State>>().Attr<int32_t>("start")
    .Ret<ffi::Buffer<ffi::S32>>());
extern "C" void* StateId() { return &State::id; }
extern "C" void* StateInfo() { return &State::info; }
"""

F4 = np.dtype("float32")
X = np.arange(6, dtype=F4).reshape(2, 3)


def like(x):
    return mj.ShapeDtypeStruct(x.shape, x.dtype)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    where = tmp_path_factory.mktemp("ffi")
    (where / "kernels.cc").write_text(SOURCE)
    subprocess.run(
        [
            compiler,
            "-std=c++17",
            "-O0",
            "-w",
            "-shared",
            "-fPIC",
            f"-I{ffi.include_dir()}",
            "kernels.cc",
            "-o",
            "kernels.so",
        ],
        cwd=where,
        check=True,
    )
    lib = ctypes.cdll.LoadLibrary(str(where / "kernels.so"))
    for name in ("scaled", "flat", "more"):
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(lib, name)))
    for at in (lib.StateId, lib.StateInfo):
        at.restype = ctypes.c_void_p
    ffi.register_ffi_type(
        "test_state",
        ffi.TypeRegistration(
            type_id=ffi.pycapsule(lib.StateId()), type_info=ffi.pycapsule(lib.StateInfo())
        ),
    )
    ffi.register_ffi_target(
        "test_next",
        {"instantiate": ffi.pycapsule(lib.begin), "execute": ffi.pycapsule(lib.next)},
    )
    return lib


def scaled(x, scale=2.0, shifts=(1, 2), **options):
    call = ffi.ffi_call("test_scaled", like(x), **options)
    return call(x, scale=np.float32(scale), shifts=np.array(shifts, np.int32))


def test_call(library):
    assert scaled(X).tolist() == mj.jit(scaled)(X).tolist() == (2 * X + 3).tolist()
    with pytest.raises(Exception, match="no scale"):
        scaled(X, scale=0.0)
    with pytest.raises(Exception, match="No FFI handler registered for nothing_here"):
        ffi.ffi_call("nothing_here", like(X))(X)


def test_an_unused_result(library):
    def quiet(x, effect):
        scaled(x, has_side_effect=effect)
        return x + 1

    counts = []
    for effect in (False, True):
        before = library.Calls()
        mj.jit(quiet, static_argnums=1)(X, effect).block_until_ready()
        counts.append(library.Calls() - before)
    assert counts == [0, 1]


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
def test_lanes(library, method):
    """Rows times the sum of w: operands of all lanes have an axis more, but in a loop."""

    def one(x, w):
        outs = [like(x), mj.ShapeDtypeStruct((), "int32")]
        return ffi.ffi_call("test_flat", outs, vmap_method=method)(x, w)

    w = np.array([1.0, 2.0], F4)
    y, rank = mj.vmap(one, (1, None))(X, w)
    lanes = 3 if method == "broadcast_all" else 1  # as often w is repeated
    assert y.tolist() == (X.T * 3 * lanes).tolist()
    assert rank[0] == (1 if method.startswith("seq") else 2)


def test_lanes_without_a_method(library):
    with pytest.raises(NotImplementedError, match="vmap is only supported for the ffi_call"):
        mj.vmap(scaled)(X)
    with pytest.raises(ValueError, match="vmap_method must be on of the allowed methods"):
        ffi.ffi_call("test_scaled", like(X), vmap_method="all")


def test_shared_memory(library):
    more = ffi.ffi_call("test_more", like(X), input_output_aliases={0: 0})
    assert more(X).tolist() == (X + 5).tolist()
    donated = mj.jit(more, donate_argnums=0)(jnp.asarray(X))
    assert donated.tolist() == (X + 5).tolist()


def test_layouts(library):
    """The code sees the operand column by column, and the compiler reads its result so."""

    def call(x, ins, outs):
        types = [like(x), mj.ShapeDtypeStruct((), "int32")]
        one = np.ones(1, F4)
        return ffi.ffi_call(
            "test_flat", types, input_layouts=[ins, None], output_layouts=[outs, None]
        )(x, one)[0]

    assert call(X, (1, 0), (1, 0)).tolist() == X.tolist()
    columns = X.T.reshape(-1).reshape(2, 3)
    assert call(X, (1, 0), (0, 1)).tolist() == columns.tolist()
    lanes = mj.vmap(
        lambda x: ffi.ffi_call(
            "test_scaled",
            like(x),
            vmap_method="broadcast_all",
            input_layouts=[(1, 0)],
            output_layouts=(0, 1),
        )(x, scale=F4.type(1), shifts=np.zeros(0, np.int32))
    )
    assert lanes(X[None]).tolist() == [columns.tolist()]


def test_state(library):
    count = mj.jit(
        lambda: ffi.ffi_call(
            "test_next", mj.ShapeDtypeStruct((), "int32"), has_side_effect=True
        )(start=np.int32(7))
    )
    assert [int(count()) for _ in range(3)] == [7, 8, 9]


def test_a_primitive_of_ones_own(library):
    scaled_p = Primitive("test_scaled")
    scaled_p.abstract = lambda x, **_: x
    rule = ffi.ffi_lowering("test_scaled", operand_layouts=[(0, 1)])
    scaled_p.lower = lambda *args, **params: rule(*args, **params)[0]
    shifts = HashableArray(np.array([1], np.int32))
    out = mj.jit(lambda x: scaled_p.bind(x, scale=F4.type(3), shifts=shifts))(X)
    assert out.tolist() == (3 * X.T.reshape(2, 3) + 1).tolist()


def text_of(fun, *args):
    lines = mj.jit(fun).lower(*args).as_text().splitlines()
    return next(line for line in lines if "custom_call" in line)


# fmt: off
# ruff: noqa: E501
ATTRIBUTES = [
    (3, "3 : i64"), (1.5, "1.500000e+00 : f64"), (True, "true"), ("abc", '"abc"'),
    (b"ab", '"ab"'), (np.int32(4), "4 : i32"), (np.uint8(3), "3 : ui8"),
    (np.float32(1.5), "1.500000e+00 : f32"), (np.bool_(True), "true"),
    (np.array([1, 2], np.int32), "dense<[1, 2]> : tensor<2xi32>"),
    (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
    (((1, 2), (3,)), "[[1, 2], [3]]"), ({"b": "x", "a": 1}, '{a = 1 : i64, b = "x"}'),
    (F4, "f32"), (np.array(3), "dense<3> : tensor<i64>"),
    (np.ones(3, np.dtype("int4")), "dense<1> : tensor<3xi4>"),
    (np.zeros((), mj.dtypes.float0), "dense<false> : tensor<i1>"),
]
ERRORS = [
    (lambda: call(X, a=[1]), TypeError, "Non-hashable keyword argument to ffi_call a: [1]"),
    (lambda: call(X, a=None), TypeError, "No attribute handler defined for type: <class 'NoneType'>"),
    (lambda: call(X, input_layouts=[]), ValueError,
     "The number of input arguments (1) must equal the number of input layouts (0)."),
    (lambda: call(X, output_layouts=[()], several=True), ValueError,
     "() is not a layout of f32[2,3]"),
    (lambda: call(X, output_layouts=[], several=True), ValueError,
     "The number of outputs (1) must equal the number of output layouts (0)."),
    (lambda: call(X, input_output_aliases={1: 0}), ValueError,
     "'1:0' with input index 1 outside the range [0, 1)"),
    (lambda: call(X, input_output_aliases={0: 0}, input_layouts=[(0, 1)], output_layouts=(1, 0)),
     ValueError, "an input with layout (1, 0) and an output with a different layout (0, 1)"),
    (lambda: call(X, custom_call_api_version=2, a=1), ValueError,
     "requires a custom call API version of at least 4; got api_version=2."),
    (lambda: call(X, legacy_backend_config="hi"), ValueError,
     "requires custom_call_api_version < 4; got 4."),
    (lambda: ffi.ffi_call("t", [like(X), 3]), ValueError,
     "All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got 3 at"
     " position 1."),
    (lambda: mj.jvp(lambda x: call(x), (X,), (X,)), ValueError,
     "The FFI call to `t` cannot be differentiated."),
    (lambda: mj.grad(lambda x: call(x).sum())(X), ValueError,
     "The FFI call to `t` cannot be differentiated."),
    (lambda: ffi.register_ffi_type_id("a", None), ValueError, "not supported after jaxlib"),
]
# fmt: on
OPTIONS = (
    "input_layouts",
    "output_layouts",
    "input_output_aliases",
    "custom_call_api_version",
    "legacy_backend_config",
)


def call(x, several=False, **kwargs):
    options = {k: kwargs.pop(k) for k in OPTIONS if k in kwargs}
    called = ffi.ffi_call("t", [like(x)] if several else like(x), **options)
    if isinstance(x, np.ndarray):
        return mj.jit(lambda x: called(x, **kwargs)).lower(x)
    return called(x, **kwargs)


@pytest.mark.parametrize("value, text", ATTRIBUTES, ids=[t for _, t in ATTRIBUTES])
def test_attributes(value, text):
    module_text = text_of(lambda x: ffi.ffi_call("t", like(x))(x, a=value), X)
    assert f'backend_config = "", mhlo.backend_config = {{a = {text}}}' in module_text


@pytest.mark.parametrize("fun, kind, text", ERRORS, ids=[t for _, _, t in ERRORS])
def test_errors(fun, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        fun()


def test_jaxpr():
    fun = mj.vmap(lambda x: ffi.ffi_call("t", like(x), vmap_method="broadcast_all")(x, a=1))
    (eqn,) = mj.make_jaxpr(fun)(X).eqns
    assert eqn.params == dict(
        attributes=(("a", 1),),
        custom_call_api_version=4,
        has_side_effect=False,
        input_layouts=((1, 0),),
        input_output_aliases=(),
        legacy_backend_config=None,
        output_layouts=((1, 0),),
        result_avals=(mj.typeof(jnp.asarray(X)),),
        target_name="t",
        vmap_method="broadcast_all",
    )
    legacy = ffi.ffi_call("t", like(X), custom_call_api_version=2, legacy_backend_config="hi")
    assert 'api_version = 2 : i32, backend_config = "hi"' in text_of(legacy, X)
    ffi.register_ffi_target_as_batch_partitionable("test_partitionable")


def test_rules_of_other_primitives_emit_calls():
    prim = jex_core.Primitive("foreign")
    prim.def_abstract_eval(lambda x, **params: x)
    rule = ffi.ffi_lowering("target", operand_layouts=[(0, 1)], has_side_effect=True)
    mlir.register_lowering(prim, rule)
    module_text = text_of(lambda x: prim.bind(x, scale=np.float32(2)), X)
    assert "mhlo.backend_config = {scale = 2.000000e+00 : f32}" in module_text
    assert "@target" in module_text and "has_side_effect = true" in module_text
    assert "operand_layouts = [dense<[0, 1]>" in module_text


def test_float0_values_are_passed_as_false():
    none = np.zeros(3, mj.dtypes.float0)
    module_text = text_of(lambda x: ffi.ffi_call("t", like(x))(none, x), X)
    assert "(tensor<3xi1>, tensor<" in module_text


def test_dicts_are_frozen():
    (eqn,) = mj.make_jaxpr(lambda x: ffi.ffi_call("t", like(x))(x, a={"c": 1, "b": 2}))(X).eqns
    ((_, value),) = eqn.params["attributes"]
    assert repr(value) == "FrozenDict({'c': 1, 'b': 2})" and dict(value) == {"c": 1, "b": 2}
    assert hash(value) == hash(FrozenDict({"b": 2, "c": 1}))
    assert value == FrozenDict({"b": 2, "c": 1}) != {"b": 2, "c": 1}
