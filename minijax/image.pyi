"""The public module `minijax.image`: resizing of images."""

from .surface.image.resize import ResizeMethod as ResizeMethod
from .surface.image.resize import resize as resize
from .surface.image.resize import scale_and_translate as scale_and_translate

__all__ = [
    "ResizeMethod", "resize", "scale_and_translate"
]
