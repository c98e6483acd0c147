"""Checkpoint policies as values: their text, their answers, their equality."""

import pytest

import minijax as mj
import minijax.numpy as jnp
from minijax import lax
from minijax.ad_checkpoint import Offloadable, Recompute, Saveable, checkpoint_name

policies = mj.checkpoint_policies
name_p = mj.make_jaxpr(lambda x: checkpoint_name(x, "a"))(1.0).eqns[0].primitive


@pytest.mark.parametrize(
    "policy, text",
    [
        (policies.dots_saveable, "DotsSaveable(only_if_no_batch_dims=False)"),
        (
            policies.checkpoint_dots_with_no_batch_dims,
            "DotsSaveable(only_if_no_batch_dims=True)",
        ),
        (
            policies.save_any_names_but_these("a"),
            "SaveAnyNamesButThese(names=frozenset({'a'}))",
        ),
        (
            policies.save_only_these_names("a"),
            "SaveOnlyTheseNames(saveable_names=frozenset({'a'}))",
        ),
    ],
)
def test_text(policy, text):
    assert repr(policy) == text
    jaxpr = mj.make_jaxpr(mj.checkpoint(jnp.sin, policy=policy))(1.0)
    assert f"policy={text}" in str(jaxpr)


def test_equal_policies_are_equal():
    for make in (policies.save_only_these_names, policies.save_any_names_but_these):
        assert make("a", "b") == make("b", "a")
        assert hash(make("a", "b")) == hash(make("b", "a"))
        assert make("a") != make("b")
    assert policies.checkpoint_dots is policies.dots_saveable
    assert policies.dots_saveable != policies.dots_with_no_batch_dims_saveable


def test_answers():
    assert Offloadable("device", "pinned_host") == ("device", "pinned_host")
    away = Offloadable(src="device", dst="pinned_host")
    numbers = {"dimension_numbers": (((1,), (0,)), ((), ()))}
    dots = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    assert dots(lax.dot_general_p, **numbers) == away
    assert dots(lax.sin_p) is Recompute
    some = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    assert [some(name_p, name=n) for n in "abc"] == [Saveable, away, Recompute]
    assert some(lax.sin_p) is Recompute
    both = policies.save_from_both_policies(some, policies.dots_saveable)
    assert [both(name_p, name=n) for n in "abc"] == [True, away, False]
    assert both(lax.dot_general_p) is True


def residuals(policy):
    f = mj.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=policy)
    *_, remat = mj.make_jaxpr(mj.grad(f))(1.0).eqns
    return len(remat.invars)


def test_a_policy_may_return_answers():
    sines = lambda prim, *_, **__: Saveable if prim is lax.sin_p else Recompute
    assert residuals(sines) == residuals(lambda prim, *_, **__: prim is lax.sin_p)
    assert residuals(lambda *_, **__: Recompute) == residuals(None)
    assert residuals(lambda *_, **__: Saveable) == residuals(lambda *_, **__: True)
    assert residuals(lambda *_, **__: Saveable) > residuals(None)


@pytest.mark.parametrize("answer", [3, "a", None])
def test_other_answers_are_refused(answer):
    with pytest.raises(TypeError, match=r"should be a bool or `ad_checkpoint.Recompute`"):
        residuals(lambda *_, **__: answer)
