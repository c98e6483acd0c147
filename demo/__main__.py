"""The demo: load the data, train three times, compare, compute gradient norms, draw."""

import time

import numpy as np
from sklearn.datasets import load_digits

import minijax as jax

from . import model, picture, training
from .screen import Progress, heading

DEVICES = 8
EPOCHS = 60
HELD_OUT = 360
RATE = 0.2
SEED = 0


def load():
    """Return shuffled digits, f32[n, 64] from 0 to 1 and i32[n]: training, held out."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    return ((images[HELD_OUT:], labels[HELD_OUT:]), (images[:HELD_OUT], labels[:HELD_OUT]))


def train(run_epoch, learn, place=lambda batches: batches):
    """Train with `run_epoch` from a fixed seed, and return parameters and losses."""
    key, shuffles = jax.random.split(jax.random.key(SEED))
    state, losses, progress = training.start(key), [], Progress(EPOCHS)
    began = time.perf_counter()
    for done, shuffle in enumerate(jax.random.split(shuffles, EPOCHS)):
        images, labels = training.batches(shuffle, *learn)
        rate = RATE * (1 + np.cos(np.pi * done / EPOCHS)) / 2
        state, values = run_epoch(state, place(images), place(labels), rate)
        losses.extend(np.asarray(values))  # waits until the epoch is done
        if done == 0:
            first, warm = len(losses), time.perf_counter()
        progress.show(done + 1, losses[-1])
    speed = (len(losses) - first) / (time.perf_counter() - warm)
    print(f"  first epoch after {warm - began:.2f} s")
    print(f"  then {speed:,.0f} steps per second")
    return state.params, losses


def largest_difference(one: dict, other: dict) -> float:
    """Return the largest difference of parameters, relative to the largest parameter."""
    gap = max(float(abs(one[name] - other[name]).max()) for name in one)
    return gap / max(float(abs(leaf).max()) for leaf in one.values())


def main() -> None:
    began = time.perf_counter()
    jax.config.update("jax_num_cpu_devices", DEVICES)
    learn, held_out = load()
    print(
        f"Handwritten digits: {len(learn[1])} to learn from, "
        f"{len(held_out[1])} held out; {jax.device_count()} devices"
    )

    heading("The loss of one image, as every transformation sees it")
    params = model.init(jax.random.key(SEED))
    print(jax.make_jaxpr(model.loss)(params, learn[0][0], learn[1][0]))

    heading("One device: jit")
    params, losses = train(training.on_one_device, learn)
    score = float(model.accuracy(params, *held_out))
    print(f"  held-out accuracy {score:.3f}")

    heading(f"{DEVICES} devices: pmap, the gradients added up by psum")
    parallel = train(training.on_all_devices, learn, training.split)
    parallel_params, parallel_losses = parallel
    parallel_score = float(model.accuracy(parallel_params, *held_out))
    gap = largest_difference(params, parallel_params)
    print(f"  held-out accuracy {parallel_score:.3f}")
    print(f"  parameters as on one device, to {gap:.0e} of the largest")
    print("  (virtual devices share these cores: the same result, at the same speed)")

    heading(f"{DEVICES} devices: the jit of one, with batches sharded over a mesh")
    sharded_params, sharded_losses = train(training.on_one_device, learn, training.shard)
    sharded_gap = largest_difference(params, sharded_params)
    sharded_score = float(model.accuracy(sharded_params, *held_out))
    print(f"  held-out accuracy {sharded_score:.3f}")
    print(f"  parameters as on one device, to {sharded_gap:.0e} of the largest")

    heading("Each image's own gradient: vmap of grad")
    norms = np.asarray(training.gradient_norms(params, *learn))
    print(
        f"  norm: median {np.median(norms):.4f}, 99th percentile "
        f"{np.percentile(norms, 99):.2f}, largest {norms.max():.2f}"
    )

    guesses = np.asarray(model.logits(params, held_out[0]).argmax(-1))
    picture.save(
        "digits.png",
        losses={
            "one device": losses,
            f"{DEVICES} devices, pmap": parallel_losses,
            f"{DEVICES} devices, a mesh": sharded_losses,
        },
        predictions=(*held_out, guesses),
        hardest=picture.hardest(*learn, norms),
        title=f"Handwritten digits: {score:.1%} of the held-out images recognised",
    )
    print(f"\nDrawn in digits.png. All in {time.perf_counter() - began:.1f} s.")

    scores = score, parallel_score, sharded_score
    assert min(scores) >= 0.96, "the classifier did not learn"
    assert max(gap, sharded_gap) < 1e-5, "one device and eight trained different parameters"


if __name__ == "__main__":
    main()
