"""A picture of the result: losses, predictions, and the hardest images."""

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

INK, FAINT, RIGHT, WRONG = "#22313f", "#8899a6", "#2a7f9e", "#d1495b"
ROWS, COLUMNS = 4, 7
SMOOTH = 11  # steps in an epoch


def hardest(images, labels, norms, count=10):
    """Return (image, label, norm) of the `count` images with the largest gradient."""
    order = np.argsort(norms)[::-1][:count]
    return [(images[i], labels[i], norms[i]) for i in order]


def save(path, *, losses, predictions, hardest, title) -> None:
    """Draw everything and write it to `path` as a PNG."""
    with plt.rc_context({"font.size": 10, "text.color": INK, "axes.labelcolor": INK}):
        figure = plt.figure(figsize=(12, 7), dpi=130, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
        figure.suptitle(title, fontsize=15, fontweight="bold")
        upper, lower = figure.subfigures(2, 1, height_ratios=(3.1, 1))
        left, right = upper.subfigures(1, 2, width_ratios=(1, 1.15))
        draw_losses(left, losses)
        draw_predictions(right, *predictions)
        draw_hardest(lower, hardest)
        figure.savefig(path)
        plt.close(figure)


def draw_losses(figure, losses) -> None:
    axes = figure.subplots()
    styles = (
        {"color": RIGHT, "lw": 5, "alpha": 0.45},
        {"color": INK, "lw": 2.5, "alpha": 0.4},
        {"color": INK, "lw": 0.8, "ls": "--"},
    )
    for (name, values), style in zip(losses.items(), styles, strict=True):
        smooth = np.convolve(values, np.ones(SMOOTH) / SMOOTH, mode="valid")
        steps = np.arange(len(smooth)) + SMOOTH
        axes.plot(steps, smooth, label=name, **style)
    axes.set(yscale="log", xlabel="step", xlim=(0, len(values)))
    axes.set_title("Loss, mean over an epoch", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.grid(axis="y", color=FAINT, alpha=0.25)
    axes.tick_params(colors=INK)
    axes.legend(frameon=False)


def draw_predictions(figure, images, labels, guesses) -> None:
    """Draw the first held-out images and, in the last row, the misclassified ones."""
    wrong = np.flatnonzero(guesses != labels)[:COLUMNS]
    good = np.flatnonzero(guesses == labels)[: ROWS * COLUMNS - len(wrong)]
    figure.suptitle("Held-out images and their predicted digits", x=0.02, ha="left")
    grid = figure.subplots(ROWS, COLUMNS)
    for axes, i in zip(grid.flat, np.concatenate([good, wrong]), strict=True):
        show(axes, images[i])
        if guesses[i] == labels[i]:
            axes.set_title(str(guesses[i]), color=RIGHT, fontweight="bold")
        else:
            text = f"{guesses[i]}, is {labels[i]}"
            axes.set_title(text, color=WRONG, fontweight="bold", fontsize=9)


def draw_hardest(figure, hardest) -> None:
    text = "Training images with the largest gradients (label, norm)"
    figure.suptitle(text, x=0.012, ha="left")
    for axes, (image, label, norm) in zip(
        figure.subplots(1, len(hardest)), hardest, strict=True
    ):
        show(axes, image)
        axes.set_title(f"{label}  ({norm:.1f})", fontsize=9)


def show(axes, image) -> None:
    axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=FAINT, alpha=0.5)
