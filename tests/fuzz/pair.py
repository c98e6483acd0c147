"""Two processes, one a library, that are asked the same."""

import os
import pickle
import select
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 90  # one request
FLAGS = [  # that halve the time of a small program's compilation
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_multi_thread_eigen=false",
]


class Child:
    """A process that runs scripts in a library; it is started again where it dies."""

    def __init__(self, python: str, name: str, log):
        self.python, self.name, self.log = python, name, log
        self.process = None

    def start(self):
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "JAX_PLATFORMS": "cpu",
            "JAX_ENABLE_COMPILATION_CACHE": "0",
            "XLA_FLAGS": " ".join(FLAGS),
        }
        self.process = subprocess.Popen(
            [self.python, "-m", "tests.fuzz.child", self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=ROOT,
            env=env,
        )

    def send(self, *request):
        if self.process is None:
            self.start()
        try:
            pickle.dump(request, self.process.stdin)
            self.process.stdin.flush()
        except BrokenPipeError:
            self.stop()

    def receive(self):
        """The answer, or what became of the process."""
        if self.process is None:
            return "died", "BrokenPipe", ""
        out = self.process.stdout
        ready, _, _ = select.select([out], [], [], SECONDS)
        if not ready:
            self.stop()
            return "died", "Timeout", ""
        try:
            return pickle.load(out)
        except EOFError:
            code = self.process.wait()
            self.stop()
            return "died", f"exit {code}", ""

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, *request):
        self.send(*request)
        return self.receive()


class Pair:
    def __init__(self, jax_python: str, log_path: str):
        log = open(log_path, "w")  # noqa: SIM115 (as long as the process)
        self.ours = Child(sys.executable, "minijax", log)
        self.jax = Child(jax_python, "jax", log)
        self.asked = 0
        self.seconds = [0.0, 0.0]

    def ask(self, *request):
        self.asked += 1
        if self.asked % 400 == 0:
            for child in (self.ours, self.jax):
                if child.process and child.ask("clean") == "restart":
                    child.stop()
        start = time.perf_counter()
        self.ours.send(*request)
        self.jax.send(*request)
        ours = self.ours.receive()
        self.seconds[0] += time.perf_counter() - start
        jax = self.jax.receive()
        self.seconds[1] += time.perf_counter() - start
        return ours, jax

    def stop(self):
        self.ours.stop()
        self.jax.stop()
