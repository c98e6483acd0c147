"""Rotation and Slerp against SciPy in float64; derivatives, also at the identity."""

import numpy as np
import pytest
import scipy.spatial.transform as scipy

import minijax as mj
import minijax.numpy as jnp
from minijax.scipy.spatial.transform import Rotation, Slerp

rng = np.random.default_rng(0)
HALF = 0.5**0.5
SPECIAL = np.array(
    [
        [0, 0, 0, 1],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [HALF, 0, 0, HALF],
        [0.5, 0.5, 0.5, 0.5],
        [1e-5, 0, 0, -1],
        [0, 2e-3, 1e-3, 1],
    ]
)
Q = np.concatenate([rng.normal(size=(6, 4)), SPECIAL])
V = rng.normal(size=(len(Q), 3))
SEQUENCES = ["xyz", "zyx", "xzy", "zxz", "yzy"]


def close(got, expected, tol=1e-12, err_msg=""):
    np.testing.assert_allclose(got, expected, atol=tol, rtol=tol, err_msg=err_msg)


def test_forms():
    def run(q, v):
        r = Rotation.from_quat(q)
        return {
            "quat": r.as_quat(),
            "canonical": r.as_quat(canonical=True, scalar_first=True),
            "matrix": r.as_matrix(),
            "mrp": r.as_mrp(),
            "rotvec": r.as_rotvec(),
            "degrees": r.as_rotvec(degrees=True),
            "inverse": r.inv().as_quat(),
            "size": r.magnitude(),
            "turned": r.apply(v),
            "back": r.apply(v, inverse=True),
            "product": (r * r[::-1]).as_quat(),
            "by rotvec": Rotation.from_rotvec(v).as_quat(),
            "by degrees": Rotation.from_rotvec(v, degrees=True).as_quat(),
            "by mrp": Rotation.from_mrp(v).as_quat(),
            "mean": r.mean().as_matrix(),
            "weighted": r.mean(jnp.arange(len(r))).as_matrix(),
        }, Rotation.from_matrix(r.as_matrix()).as_matrix()

    with mj.enable_x64():
        got, matrices = mj.jit(run)(Q, V)
    r = scipy.Rotation.from_quat(Q)
    expected = {
        "quat": r.as_quat(),
        "canonical": r.as_quat(canonical=True, scalar_first=True),
        "matrix": r.as_matrix(),
        "mrp": r.as_mrp(),
        "rotvec": r.as_rotvec(),
        "degrees": r.as_rotvec(degrees=True),
        "inverse": Q * [-1, -1, -1, 1] / np.linalg.norm(Q, axis=1)[:, None],
        "size": r.magnitude(),
        "turned": r.apply(V),
        "back": r.apply(V, inverse=True),
        "product": (r * r[::-1]).as_quat(),
        "by rotvec": scipy.Rotation.from_rotvec(V).as_quat(),
        "by degrees": scipy.Rotation.from_rotvec(V, degrees=True).as_quat(),
        "by mrp": scipy.Rotation.from_mrp(V).as_quat(),
        "mean": r.mean().as_matrix(),
        "weighted": r.mean(np.arange(len(Q))).as_matrix(),
    }
    for form, value in expected.items():
        close(got[form], value, err_msg=form)
    close(matrices, r.as_matrix())


def test_angles():
    sequences = SEQUENCES + [s.upper() for s in SEQUENCES]

    def run(q, v):
        r = Rotation.from_quat(q)
        angles = {s: r.as_euler(s, degrees=True) for s in sequences}
        back = {s: Rotation.from_euler(s, a, True).as_matrix() for s, a in angles.items()}
        operands = {s: Rotation.from_euler(s, v).as_matrix() for s in sequences}
        few = {s: Rotation.from_euler(s, v[:, : len(s)]).as_matrix() for s in ("x", "ZY", "yx")}
        return angles, back, {**operands, **few}

    with mj.enable_x64():
        angles, back, operands = mj.jit(run)(Q, V)
    expected = scipy.Rotation.from_quat(Q)
    dense_result = slice(0, 6)  # in gimbal lock angles are not unique
    for s, result in angles.items():
        close(result[dense_result], expected[dense_result].as_euler(s, degrees=True), 1e-10, s)
        close(back[s], expected.as_matrix(), 1e-6, s)
        assert np.all(result >= -180) and np.all(result < 180)
    for s, result in operands.items():
        exact = scipy.Rotation.from_euler(s, V[:, : len(s)]).as_matrix()
        close(result, exact, err_msg=s)


def test_slerp():
    times = np.array([0, 1, 2.5, 3, 4, 6])
    at = np.array([0, 0.5, 1, 2.4, 3, 5.5, 6])
    with mj.enable_x64():
        slerp = Slerp.init(times, Rotation.from_quat(Q[:6]))
        got = mj.jit(lambda s, t: (s(t).as_matrix(), s(t[1]).as_matrix()))(slerp, at)
        after = slerp(7.0).as_matrix()
    expected = scipy.Slerp(times, scipy.Rotation.from_quat(Q[:6]))
    close(got[0], expected(at).as_matrix())
    close(got[1], expected(0.5).as_matrix())
    step = scipy.Rotation.from_matrix(expected([5, 6])[0].as_matrix()).inv() * expected(6)
    close(after, (expected(6) * step).as_matrix())
    assert slerp._fields == ("times", "timedelta", "rotations", "rotvecs")


def test_derivatives():
    ways = {
        "rotvec": lambda v: Rotation.from_rotvec(v).as_rotvec(),
        "euler": lambda v: Rotation.from_euler("zyx", v).as_euler("zyx"),
        "matrix": lambda v: Rotation.from_matrix(Rotation.from_mrp(v).as_matrix()).as_mrp(),
    }
    sizes = jnp.array([[0.0], [1e-4], [9.99e-4], [1.01e-3], [0.3]])

    @mj.jit
    def run(vs):
        turn = mj.jacobian(lambda v: Rotation.from_rotvec(v).as_matrix())
        slopes = {name: mj.vmap(mj.jacobian(f))(vs) for name, f in ways.items()}
        return slopes, turn(jnp.zeros(3))

    with mj.enable_x64():
        slopes, nothing = run(sizes * V[0])
    for name, result in slopes.items():  # there and back again
        close(result, [np.eye(3)] * 5, 1e-9, name)
    close(nothing[..., 2], [[0, -1, 0], [1, 0, 0], [0, 0, 0]])


def test_arrays_of_rotations():
    r = Rotation.from_rotvec(V.astype("float32"))
    assert len(r) == len(V) and not r.single and r[2].single and len(r[1:3]) == 2
    both = Rotation.concatenate([r, r[0]])
    assert len(both) == len(V) + 1 and both.quat.dtype == "float32"
    close(mj.vmap(lambda r, v: r.apply(v))(r, V), r.apply(V), 1e-6)
    leaves, tree = mj.tree.flatten(r)
    assert len(leaves) == 1 and isinstance(tree.unflatten(leaves), Rotation)
    assert Rotation.identity().quat.tolist() == [0, 0, 0, 1]
    assert Rotation.identity(2, "float16").quat.shape == (2, 4)
    close(Rotation.from_euler("z", 90, degrees=True).as_rotvec(True), [0, 0, 90], 1e-5)
    traced = mj.jit(lambda d: Rotation.from_rotvec(jnp.array([0.0, 0, 90]), d).magnitude())
    close(traced(True), np.pi / 2, 1e-6)
    close(traced(False), 90 % (2 * np.pi), 1e-4)


def test_random_rotations():
    r = Rotation.random(mj.random.key(0), 2000)
    close(np.linalg.norm(r.quat, axis=1), 1, 1e-6)
    # Of uniform ones, the angle has the density (1 - cos a) / pi.
    close(np.mean(r.magnitude()), np.pi / 2 + 2 / np.pi, 0.02)
    close(np.mean(r.apply(jnp.array([0, 0, 1.0])), 0), [0, 0, 0], 0.04)
    assert Rotation.random(mj.random.key(1)).single


R = Rotation.from_quat(Q)
REFUSED = {
    "none": (lambda: Rotation.from_euler("", V), ValueError, "non-empty string"),
    "mixed": (lambda: Rotation.from_euler("xY", V[:, :2]), ValueError, "to be from"),
    "twice": (lambda: R.as_euler("xxy"), ValueError, "consecutive axes to be different"),
    "three": (lambda: R.as_euler("xy"), ValueError, "Expected 3 axes"),
    "shape": (lambda: Rotation.from_euler("xy", V), ValueError, r"\(..., 2\)"),
    "length": (lambda: len(R[0]), TypeError, r"no len\(\)"),
    "item": (lambda: R[0][0], TypeError, "not subscriptable"),
    "weights": (lambda: R.mean(jnp.ones((3, 1))), ValueError, "to be 1 dimensional"),
    "count": (lambda: R.mean(jnp.ones(3)), ValueError, "equal to number of rotations"),
    "rotations": (lambda: Slerp.init([0, 1], Q), TypeError, "must be a `Rotation`"),
    "one": (lambda: Slerp.init([0], R[:1]), ValueError, "at least 2 rotations"),
    "times": (lambda: Slerp.init([0, 1], R), ValueError, "number of timestamps"),
    "axes": (lambda: Slerp.init([[0, 1]], R[:2]), ValueError, "1 dimensional array"),
    "at": (lambda: Slerp.init([0, 1], R[:2])([[0]]), ValueError, "at most 1-dimensional"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()
