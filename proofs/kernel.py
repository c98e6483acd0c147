"""minijax in a notebook kernel: `python -m proofs.kernel`, with ipykernel installed.

The program sends cells to a kernel as a notebook does, with `import minijax as jax` and with
`import jax` through the alias.  It checks the text of results, the completions of the tab
key, and that the session survives interrupts of a computation, a trace, a compilation and a
loop.
"""

from __future__ import annotations

import os
import queue
import sys
import time
from pathlib import Path
from typing import Any

SECONDS = 60  # limit for an answer, on a busy machine

SHOWN = {
    "jnp.arange(3.0)": "Array([0., 1., 2.], dtype=float32)",
    "jax.random.key(0)": "Array((), dtype=key<fry>) overlaying:\n[0 0]",
    "jax.make_jaxpr(lambda x: x + 1)(1.0)": "{ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }",  # noqa: E501
    "jax.NamedSharding(jax.make_mesh((2,), ('x',)), jax.P('x'))": "NamedSharding(mesh=",
    "jax.eval_shape(f, jnp.ones(3))": "ShapeDtypeStruct(shape=(3,), dtype=float32)",
    "jax.debug.print('{}', f(2.0))": "4.0",
}
COMPLETED = {
    "jnp.lins": "linspace",
    "jax.random.nor": "normal",
    "lax.sca": "scan",
    "x.rav": "ravel",
    "x.at[0].s": "set",
    "f.low": "lower",
    "jax.scipy.stats.no": "norm",
    "jax.": "make_jaxpr",
}
HIDDEN = ("base", "ir", "passes", "views")  # internal packages
INTERRUPTED = {
    "a computation": "spin(jnp.full((64, 64), 1e-3)).block_until_ready()",
    "a loop": "while True: x = x + 1",
    "a trace": "jax.jit(endless)(1.0)",
    "a trace of a gradient": "jax.grad(jax.jit(endless))(1.0)",
    "a compilation": "jax.jit(large)(jnp.ones((8, 8)))",
}
PRELUDE = """
f, x = jax.jit(lambda x: 2 * x), jnp.ones(3)
spin = jax.jit(lambda x: lax.fori_loop(0, 200_000, lambda i, c: jnp.sin(c) @ c, x))
def endless(x):
    while True: x = jnp.sin(x) + 1
def large(x):
    for i in range(1500): x = jnp.sin(x) @ x + jnp.cos(x * i)
    return x
"""
IMPORTS = {
    "minijax": "import minijax as jax, minijax.numpy as jnp\nfrom minijax import lax",
    "jax": "import minijax.tools.alias as alias; alias.install()\n"
    "import jax, jax.numpy as jnp\nfrom jax import lax",
}


class Session:
    """A kernel and its client."""

    def __init__(self) -> None:
        from jupyter_client.manager import KernelManager

        path = str(Path(__file__).parent.parent)
        flags = "--xla_force_host_platform_device_count=2"
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env={**os.environ, "PYTHONPATH": path, "XLA_FLAGS": flags})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, interrupt_after: float | None = None) -> str:
        """Run a cell, and return its output; for an error, its name."""
        request = self.client.execute(code)
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            self.manager.interrupt_kernel()
        shown, end = "", time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return shown
            if kind == "execute_result":
                shown += content["data"]["text/plain"]
            elif kind == "stream":
                shown += content["text"]
            elif kind == "error":
                shown += content["ename"]
        raise TimeoutError(f"no answer to {code!r}: {shown}")

    def completions(self, code: str) -> list[str]:
        """Return the completions of some code."""
        reply: Any = self.client.complete(code, reply=True, timeout=SECONDS)
        return list(reply["content"]["matches"])


def check(name: str) -> list[str]:
    """Return the faults of a session that imports a name."""
    wrong = []
    session = Session()
    try:
        if shown := session.run(IMPORTS[name] + PRELUDE):
            wrong.append(f"the import shows {shown!r}")
        for code, expected in SHOWN.items():
            if not (shown := session.run(code)).startswith(expected):
                wrong.append(f"{code} shows {shown!r}")
        for code, expected in COMPLETED.items():
            completions = session.completions(code)
            if not any(m.endswith(expected) for m in completions):
                wrong.append(f"{code} is not completed to {expected}: {completions[:5]}")
            if code == "jax." and (internal := set(HIDDEN) & set(completions)):
                wrong.append(f"{code} is completed to {internal}")
        for what, code in INTERRUPTED.items():
            if (shown := session.run(code, interrupt_after=2.0)) != "KeyboardInterrupt":
                wrong.append(f"{what}, interrupted, ends with {shown!r}")
            if (shown := session.run("float(f(3.0))")) != "6.0":
                wrong.append(f"after the interrupt of {what}: {shown!r}")
    finally:
        session.close()
    return wrong


def main() -> int:
    wrong = [f"import {name}: {w}" for name in IMPORTS for w in check(name)]
    print("\n".join(wrong) or "The kernel passes all checks.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
