"""What must hold of control flow: it gives what the same program written out gives.

`agree(looped, straight, x)` compares two functions of a vector under every
transformation, alone and composed.  `straight` is plain Python, without control flow
primitives; so what is known of straight-line programs is known of loops.
"""

import numpy as np

import minijax as mj
import minijax.numpy as jnp

TANGENT = np.array([0.3, -1.0, 0.5], np.float32)
MIX = np.array([1.0, -0.5, 0.25], np.float32)
ROWS = np.array([1.0, 1.3, 0.6], np.float32)

FORWARD = {
    "itself": lambda f: f,
    "jit": mj.jit,
    "jvp": lambda f: lambda x: mj.jvp(f, (x,), (TANGENT,)),
    "jacfwd": mj.jacfwd,
    "jvp of jvp": lambda f: lambda x: mj.jvp(FORWARD["jvp"](f), (x,), (MIX,)),
    "vmap": lambda f: lambda x: mj.vmap(f)(jnp.outer(ROWS, x)),
    "vmap axis 1": lambda f: lambda x: mj.vmap(f, 1, 1)(jnp.outer(x, ROWS)),
    "vmap of vmap": lambda f: (
        lambda x: mj.vmap(mj.vmap(f))(
            jnp.outer(ROWS, x)[None] * np.array([1.0, 0.5], np.float32)[:, None, None]
        )
    ),
    "jvp of vmap": lambda f: (
        lambda x: mj.jvp(mj.vmap(f), (jnp.outer(ROWS, x),), (jnp.outer(MIX, TANGENT),))
    ),
    "vmap of jvp": lambda f: lambda x: mj.vmap(FORWARD["jvp"](f))(jnp.outer(ROWS, x)),
}
REVERSE = {
    "linearize": lambda f: lambda x: mj.linearize(f, x)[1](TANGENT),
    "vjp": lambda f: lambda x: mj.vjp(f, x)[1](MIX),
    "grad of jit": lambda f: mj.grad(lambda x: MIX @ mj.jit(f)(x)),
    "jit of grad": lambda f: mj.jit(mj.grad(lambda x: MIX @ f(x))),
    "jacrev": mj.jacrev,
    "hessian": mj.hessian,
    "grad of grad": lambda f: mj.grad(lambda x: TANGENT @ mj.grad(lambda x: MIX @ f(x))(x)),
    "grad of jvp": lambda f: mj.grad(lambda x: MIX @ FORWARD["jvp"](f)(x)[1]),
    "grad of vmap": lambda f: mj.grad(lambda x: (FORWARD["vmap"](f)(x) @ MIX).sum()),
    "vmap of grad": lambda f: FORWARD["vmap"](mj.grad(lambda x: MIX @ f(x))),
    "grad of checkpoint": lambda f: mj.grad(lambda x: MIX @ mj.checkpoint(f)(x)),
}


def leaves(out):
    return mj.tree.leaves(out)


def agree(looped, straight, x, *, reverse=True, tolerance=2e-5):
    """Equal results of equal types, under all transformations."""
    transforms = {**FORWARD, **(REVERSE if reverse else {})}

    def everything(f):  # one program: it compiles in a fraction of the time of many
        return mj.jit(lambda x: {name: t(f)(x) for name, t in transforms.items()})(x)

    got, expected = everything(looped), everything(straight)
    for name in transforms:
        pairs = zip(leaves(got[name]), leaves(expected[name]), strict=True)
        for a, b in pairs:
            assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type), name
            np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=name)


def equations(jaxpr):
    """All equations of a jaxpr, those of inner jaxprs included."""
    eqns = []
    for eqn in jaxpr.eqns:
        eqns.append(eqn)
        for value in eqn.params.values():
            for item in value if isinstance(value, tuple) else (value,):
                if hasattr(item, "eqns"):
                    eqns += equations(item)
    return eqns


def names(jaxpr):
    """The names of the primitives of a jaxpr, those of inner jaxprs included."""
    return [eqn.primitive.name for eqn in equations(jaxpr)]


def only(jaxpr, name):
    """The only equation of a primitive, wherever it is."""
    (eqn,) = [e for e in equations(jaxpr) if e.primitive.name == name]
    return eqn
