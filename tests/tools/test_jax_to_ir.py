"""`jax.tools.jax_to_ir`: functions as serialized HLO programs."""

import numpy as np
import pytest
from jaxlib import xla_client

import minijax as mj
import minijax.numpy as jnp
from minijax.tools import jax_to_ir as tool

X = mj.ShapeDtypeStruct((2, 3), jnp.float32)
Y = mj.ShapeDtypeStruct((3,), jnp.float32)


def dot(x, y, scale):
    return scale * (jnp.sin(x) @ y)


def test_arguments_keep_their_order_and_constants_are_inside():
    shapes = [("y", Y), ("x", X)]
    data, text = tool.jax_to_ir(dot, shapes, constants={"scale": 2.0}, format="HLO")
    assert (
        text.startswith("HloModule")
        and text == tool.jax_to_hlo(dot, shapes, constants={"scale": 2.0})[1]
    )
    module = xla_client.XlaComputation(data).get_hlo_module()
    assert "(f32[3]{0}, f32[2,3]{1,0})->f32[2]{0}" in module.to_string()
    with pytest.raises(ValueError, match="appear in both `input_shapes` and `constants`"):
        tool.jax_to_hlo(dot, shapes, constants={"x": 2.0})
    with pytest.raises(ValueError, match="Unrecognized format: TF"):
        tool.jax_to_ir(dot, shapes, format="TF")


def test_the_command_line_writes_both_forms(tmp_path):
    files = tmp_path / "f.pb", tmp_path / "f.txt"
    tool.main(
        [
            "",
            "--fn",
            "minijax.numpy.outer",
            "--ir_dest",
            str(files[0]),
            "--input_shapes",
            '[("a", "f32[2,3]")]',
            "--evaled_constants",
            '{"b": "[1.0, 2.0, 3.0]"}',
            "--ir_human_dest",
            str(files[1]),
        ]
    )
    text = files[1].read_text()
    assert "f32[2,3]{1,0} parameter(0)" in text and "parameter(1)" not in text
    module = xla_client.XlaComputation(files[0].read_bytes()).get_hlo_module()
    assert "->f32[6,3]" in module.to_string() and " constant(" in text


@pytest.mark.parametrize(
    "text, dtype, shape",
    (
        ("f32[2,3]", "float32", (2, 3)),
        ("pred[]", "bool", ()),
        ("u8[4]", "uint8", (4,)),
        ("bf16[1, 2]", "bfloat16", (1, 2)),
        ("c64[0]", "complex64", (0,)),
    ),
)
def test_shapes_are_parsed(text, dtype, shape):
    aval = tool.parse_shape_str(text)
    assert aval.dtype == jnp.dtype(dtype) and aval.shape == shape
    for bad in ("f32", "f33[2]", "f32[a]", "f32[2]{0}"):
        with pytest.raises(ValueError, match=r"Invalid shape .* Valid example"):
            tool.parse_shape_str(bad)
    assert np.prod(shape) == aval.size
