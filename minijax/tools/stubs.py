"""Type stubs of public modules: the names in their tables, for editors.

`python -m minijax.tools.stubs` writes a `.pyi` file next to each public module with a
table; a test compares the files with its output.
"""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path

from ..base import lazy_modules

_ROOT = Path(__file__).parent.parent
DISTRIBUTIONS = (
    "bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom"
    " gumbel_l gumbel_r laplace logistic multinomial multivariate_normal nbinom norm pareto"
    " poisson t truncnorm uniform vonmises wrapcauchy"
)
PUBLIC_MODULES = (
    "minijax", "minijax.api_util", "minijax.cloud_tpu_init", "minijax.core",
    "minijax.distributed",
    "minijax.example_libraries",
    "minijax.example_libraries.optimizers",
    "minijax.example_libraries.stax", "minijax.experimental",
    "minijax.experimental.array_serialization",
    "minijax.experimental.array_serialization.serialization",
    "minijax.experimental.buffer_callback", "minijax.experimental.colocated_python",
    "minijax.experimental.colocated_python.api",
    "minijax.experimental.colocated_python.func",
    "minijax.experimental.colocated_python.obj", "minijax.experimental.fused",
    "minijax.experimental.transfer", "minijax.experimental.roofline",
    "minijax.experimental.roofline.roofline", "minijax.experimental.source_mapper",
    *(f"minijax.experimental.source_mapper.{name}" for name in (
        "common", "generate_map", "hlo", "jaxpr", "mlir",
    )),
    "minijax.experimental.colocated_python.serialization",

    "minijax.experimental.custom_partitioning",
    "minijax.experimental.hijax", "minijax.experimental.jet",
    "minijax.experimental.mesh_utils",
    "minijax.experimental.pjit",
    "minijax.experimental.multihost_utils",
    "minijax.experimental.random", "minijax.experimental.shard_map",
    "minijax.experimental.sparse",
    *(f"minijax.experimental.sparse.{name}" for name in (
        "ad", "api", "bcoo", "bcsr", "coo", "csr", "linalg", "random", "test_util",
        "transform", "util",
    )),
    "minijax.experimental.compute_on", "minijax.experimental.profiler",
    "minijax.experimental.control_deps",
    "minijax.experimental.scheduling_groups", "minijax.experimental.shard_alike",
    "minijax.experimental.xla_metadata", "minijax.experimental.compilation_cache",
    "minijax.experimental.compilation_cache.compilation_cache",
    "minijax.experimental.serialize_executable", "minijax.experimental.topologies",
    "minijax.export", "minijax.ffi",
    "minijax.extend", "minijax.extend.backend",
    "minijax.extend.core", "minijax.extend.core.primitives",
    "minijax.extend.ifrt_programs", "minijax.extend.linear_util",
    "minijax.extend.lowering", "minijax.extend.random",
    "minijax.extend.sharding", "minijax.extend.source_info_util",
    "minijax.extend.xla",
    "minijax.custom_batching", "minijax.custom_derivatives", "minijax.debug",
    "minijax.dlpack", "minijax.dtypes",
    "minijax.image",
    "minijax.interpreters",
    *(f"minijax.interpreters.{name}" for name in (
        "ad", "batching", "mlir", "partial_eval", "pxla", "xla",
    )),
    "minijax.lax", "minijax.lax.linalg", "minijax.lib", "minijax.nn",
    "minijax.nn.initializers",
    "minijax.monitoring", "minijax.numpy", "minijax.numpy.fft", "minijax.numpy.linalg",
    "minijax.ops", "minijax.profiler",
    "minijax.random", "minijax.ref", "minijax.scipy", "minijax.sharding",
    "minijax.stages",
    "minijax.scipy.linalg", "minijax.scipy.sparse", "minijax.scipy.sparse.linalg",
    "minijax.scipy.fft", "minijax.scipy.special", "minijax.scipy.stats",
    *(f"minijax.scipy.stats.{name}" for name in DISTRIBUTIONS.split()),
    "minijax.scipy.signal",
    "minijax.scipy.cluster", "minijax.scipy.cluster.vq", "minijax.scipy.ndimage",
    "minijax.scipy.integrate", "minijax.scipy.interpolate",
    "minijax.scipy.optimize", "minijax.scipy.spatial",
    "minijax.scipy.spatial.transform", "minijax.experimental.ode",
    "minijax.experimental.rnn", "minijax.tools",
)  # fmt: skip


def path_of(name: str) -> Path:
    """Return the path of a public module's stub."""
    source = Path(importlib.import_module(name).__file__ or "")
    return source.with_suffix(".pyi")


def stub(name: str) -> str:
    """Return the text of a public module's stub."""
    module = importlib.import_module(name)
    depth = len(path_of(name).relative_to(_ROOT).parts)
    lines = [f'"""{(module.__doc__ or "").strip().splitlines()[0]}"""', ""]
    modules = lazy_modules.homes(module._TABLE)
    entries = sorted(
        {(module_path, inner, public) for public, (module_path, inner) in modules.items()}
    )
    owned = {
        (module_path, inner.partition(".")[0])
        for module_path, inner, _ in entries
        if "." in inner
    }
    for module_path, owner in sorted(owned):
        lines.append(f"from {'.' * depth}{module_path} import {owner} as _{owner}")
    for module_path, inner, public in entries:
        if "." not in inner:
            lines.append(f"from {'.' * depth}{module_path} import {inner} as {public}")
    for submodule in sorted(set(module.__all__) - set(modules)):
        lines.append(f"from . import {submodule} as {submodule}")
    if owned:
        lines.append("")
        lines += [f"{p} = _{inner}" for _, inner, p in entries if "." in inner]
    names = sorted(module.__all__)
    if name == "minijax":
        lines += ["from .base.config import config as config", ""]
        lines += ["__version__: str", "__version_info__: tuple[int, int, int]"]
        names.append("config")
    all_names = textwrap.fill(", ".join(f'"{n}"' for n in names), 84)
    lines += ["", "__all__ = [", textwrap.indent(all_names, "    "), "]", ""]
    return "\n".join(lines)


def main() -> None:
    """Write all stubs."""
    for name in PUBLIC_MODULES:
        path_of(name).write_text(stub(name))


if __name__ == "__main__":
    main()
