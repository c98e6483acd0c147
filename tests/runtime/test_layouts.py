"""Layouts: what orders the elements of arrays; programs are told, arrays tell."""

import numpy as np
import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.experimental.layout import Format, Layout, with_layout_constraint

X = jnp.arange(6.0).reshape(2, 3)
BACK, PLAIN = Layout((1, 0)), Layout((0, 1))
HERE = X.sharding


def test_layouts_and_formats_are_values():
    assert Layout([1, 0]) == BACK != PLAIN and hash(Layout((1, 0))) == hash(BACK)
    assert Format(BACK, HERE) == Format(Layout((1, 0)), HERE) != Format(PLAIN, HERE)
    assert len({Format(), Format(None, None), Format(Layout.AUTO)}) == 2
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    for wrong in ((3, None), (None, mj.devices()[0])):
        with pytest.raises(TypeError, match="Invalid value received for the"):
            Format(*wrong)
    with pytest.raises(ValueError, match="Sharding has to be concrete"):
        Format(BACK)


def test_arrays_tell_how_they_lie():
    assert X.format == Format(Layout((0, 1), ()), HERE)
    mesh = mj.make_mesh((2,), ("x",))
    cut = mj.device_put(X, Format(PLAIN, mj.NamedSharding(mesh, mj.P("x"))))
    assert cut.format.layout.major_to_minor == (0, 1)
    assert cut.format.sharding.spec == mj.P("x") and cut.tolist() == X.tolist()
    assert mj.device_put(X, X.format).tolist() == X.tolist()


def test_arrays_of_other_orders_are_refused():
    for run in (
        lambda: mj.device_put(X, Format(BACK, HERE)),
        lambda: mj.jit(jnp.sin, in_shardings=Format(BACK, HERE)),
        lambda: mj.jit(jnp.sin, out_shardings=Format(BACK, HERE)),
    ):
        with pytest.raises(NotImplementedError, match=r"arrays of Layout\(.* are not"):
            run()
    with pytest.raises(ValueError, match="should be concrete"):
        mj.device_put(X, Format(Layout.AUTO, HERE))


@pytest.mark.parametrize("given", [Format(Layout.AUTO), Format(PLAIN, HERE), Format()])
def test_programs_take_formats(given):
    f = mj.jit(lambda x: x * 2, in_shardings=given, out_shardings=given)
    assert f(X).tolist() == (X * 2).tolist()
    compiled = f.lower(X).compile()
    ((found,), named), out = compiled.input_formats, compiled.output_formats
    assert found.layout.major_to_minor == out.layout.major_to_minor == (0, 1)
    assert not named and out.sharding == HERE


def test_values_in_programs_are_laid_out():
    f = lambda x: with_layout_constraint(x * 2, BACK)
    assert f(X).tolist() == mj.jit(f)(X).tolist() == (X * 2).tolist()
    text = mj.jit(f).lower(X).as_text()
    assert "@LayoutConstraint" in text and "dense<[0, 1]>" in text
    grad = mj.grad(lambda x: (f(x) ** 2).sum())
    assert np.allclose(grad(X), 8 * X) and np.allclose(mj.jit(grad)(X), 8 * X)
    assert mj.jvp(f, (X,), (X,))[1].tolist() == (X * 2).tolist()
    lanes = mj.make_jaxpr(mj.vmap(f, in_axes=1))(X[:, None])
    assert "major_to_minor=(0, 2, 1)" in str(lanes)
    tree = with_layout_constraint({"a": X, "b": (X,)}, {"a": BACK, "b": PLAIN})
    assert tree["a"].tolist() == X.tolist()


def test_layouts_that_do_not_fit():
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank"):
        with_layout_constraint(X, Layout((0, 1, 2)))
    with pytest.raises(ValueError, match="Length of major_to_minor and the rank"):
        mj.device_put(X, Format(Layout((0,)), HERE))
    with pytest.raises(TypeError, match="takes layouts"):
        with_layout_constraint(X, 3)
    with pytest.raises(NotImplementedError, match="tiles"):
        with_layout_constraint(X, Layout((0, 1), ((8, 128),)))
