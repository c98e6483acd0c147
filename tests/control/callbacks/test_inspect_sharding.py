"""Shardings are inspected, and drawn."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax.base import config

MESH = mj.make_mesh((2, 2), ("x", "y"))


def over(*spec):
    return mj.NamedSharding(MESH, mj.P(*spec))


def drawn(capsys, shape, sharding, **options):
    mj.debug.visualize_sharding(shape, sharding, use_color=False, **options)
    return capsys.readouterr().out.splitlines()


def test_boxes_name_devices(capsys):
    assert drawn(capsys, (4, 4), over("x", "y"), scale=0.2) == [
        "┌───────┬───────┐",
        "│ CPU 0 │ CPU 1 │",
        "├───────┼───────┤",
        "│ CPU 2 │ CPU 3 │",
        "└───────┴───────┘",
    ]
    assert drawn(capsys, (4, 4), over(None, "y"), scale=0.2) == [
        "┌─────────┬─────────┐",
        "│         │         │",
        "│ CPU 0,2 │ CPU 1,3 │",
        "└─────────┴─────────┘",
    ]
    (top, line, bottom) = drawn(capsys, (4,), over("y"), scale=0.1)
    assert line.split("│")[1:-1] == [" CPU 0,2 ", " CPU 1,3 "] and len(top) == len(bottom)


def test_sizes_of_pictures(capsys):
    one = jnp.ones(1).sharding
    wide = [len(drawn(capsys, (4, 4), one, scale=s)[0]) for s in (0.1, 1, 2, 100)]
    assert wide == [11, 27, 52, 82]
    high = [len(drawn(capsys, (4, 4), one, scale=s)) for s in (0.1, 1, 2)]
    assert high == [3, 12, 22]
    assert len(drawn(capsys, (4, 4), one, min_width=30)[0]) == 32
    assert len(drawn(capsys, (4, 4), one, max_width=12)[0]) == 14


def test_colours(capsys):
    mj.debug.visualize_sharding((4, 4), over("x", "y"), scale=0.2)
    assert capsys.readouterr().out.count("\033[48;2;") == 4
    mj.debug.visualize_sharding(
        (4,), over("x"), scale=0.1, color_map=lambda t: (t, 0.0, 1.0, 1.0)
    )
    out = capsys.readouterr().out
    assert "\033[48;2;0;0;255m" in out and "\033[48;2;255;0;255m" in out
    mj.debug.visualize_sharding((4,), over("x"), scale=0.1, color_map=[(1, 1, 0)])
    assert capsys.readouterr().out.count("\033[48;2;255;255;0m") == 2


def test_arrays_are_drawn_and_inspected(capsys):
    x = mj.device_put(jnp.arange(16.0).reshape(4, 4), over("x", "y"))
    mj.debug.visualize_array_sharding(x, use_color=False, scale=0.2)
    assert "│ CPU 2 │ CPU 3 │" in capsys.readouterr().out
    seen = []
    mj.debug.inspect_array_sharding({"a": x, "b": jnp.ones(2)}, callback=seen.append)
    assert seen == [x.sharding, jnp.ones(2).sharding]


def test_programs_report_once(capsys):
    seen = []

    @mj.jit
    def f(x):
        mj.debug.inspect_array_sharding(x * 2, callback=seen.append)
        return x * 3

    assert f(1.0) == f(2.0) / 2 == 3 and len(seen) == 1
    assert mj.grad(f)(1.0) == 3 and mj.vmap(f)(jnp.ones(2)).tolist() == [3, 3]
    mj.jit(lambda x: (mj.debug.visualize_array_sharding(x, use_color=False), x)[1])(jnp.ones(4))
    assert "CPU 0" in capsys.readouterr().out


def test_what_cannot_be_shown():
    with pytest.raises(ValueError, match="only works for shapes with 1 and 2 dimensions"):
        mj.debug.visualize_array_sharding(jnp.ones((2, 2, 2)))
    with pytest.raises(TypeError, match="takes arrays"):
        mj.debug.inspect_array_sharding(3.0, callback=print)


def test_the_compiler_reports_shardings_inside_a_program(capsys, tmp_path):
    auto = (mj.sharding.AxisType.Auto,) * 2
    mesh = mj.make_mesh((2, 2), ("x", "y"), axis_types=auto)
    at = lambda *spec: mj.NamedSharding(mesh, mj.P(*spec))
    seen = []

    def f(x):
        y = jnp.sin(x)
        mj.debug.inspect_array_sharding(y, callback=seen.append)
        mj.debug.visualize_array_sharding(y, use_color=False, scale=0.2)
        z = y @ y.T
        mj.debug.inspect_array_sharding(z, callback=seen.append)
        return z.sum()

    x = mj.device_put(jnp.ones((4, 4)), at("x", "y"))
    with config.CACHE_DIR(str(tmp_path)):
        run = mj.jit(f)
        run(x)
        assert seen == [at("x", "y"), at("x")]  # recorded from JAX 0.10.2
        run(x)
    assert len(seen) == 2  # once, when it is compiled
    assert "│ CPU 2 │ CPU 3 │" in capsys.readouterr().out
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    seen.clear()

    @mj.jit
    @mj.shard_map(mesh=mesh, in_specs=mj.P("x", "y"), out_specs=mj.P("x", "y"))
    def part(x):
        mj.debug.inspect_array_sharding(x * 2, callback=seen.append)
        return x

    part(x)
    assert seen == [at()]
