"""Programs over several processes: values as in JAX 0.10.2, and what ends them."""

import importlib.machinery
import pathlib
import re
import socket
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import minijax as mj
from minijax.api import cluster_environments as environments
from minijax.experimental import multihost_utils as hosts
from minijax.runtime.backends.process_membership import ProcessMembership
from minijax.tools import launcher
from tests.processes.starting import LIMIT, environment, free_port, together

FOLDER = pathlib.Path(__file__).parent


def test_values_are_jaxs():
    expected = (FOLDER / "values.txt").read_text().splitlines()
    outputs = together([str(FOLDER / "children.py"), "minijax"], 2)
    assert [status for status, _ in outputs] == [0, 0], outputs
    # C++ writes to the same pipe, by the word: what it says may stand before an arrow.
    lines = [line for _, text in outputs for line in re.findall("=> (.*)", text)]
    assert lines == expected


DIES = """
import os, minijax as mj
mj.config.update("jax_num_cpu_devices", 1)
mj.distributed.initialize(heartbeat_timeout_seconds=60)
assert mj.process_count() == 3
mj.experimental.multihost_utils.sync_global_devices("up")
if mj.process_index() == 1:
    os._exit(7)
mj.experimental.multihost_utils.sync_global_devices("never")
"""


def test_when_one_dies_the_others_raise():
    (a, first), (b, _), (c, last) = together(["-c", DIES], 3)
    assert b == 7
    assert a
    assert c
    assert "process 1 of 3 has died; process 0 ends too." in first
    assert "process 1 of 3 has died; process 2 ends too." in last


DIFFERS = """
import sys, numpy as np, minijax as mj, minijax.numpy as jnp
mj.distributed.initialize()
me = mj.process_index()
where = mj.NamedSharding(mj.make_mesh((4,), ("x",)), mj.P("x"))
x = mj.make_array_from_callback((4,), where, lambda at: np.arange(4.0)[at])

@mj.jit
def step(x):
    y = jnp.sin(x)
    if me == 1:
        y = jnp.cos(y)
    return y.sum()

if me == 0:
    mj.jit(lambda x: x * 3).lower(x).compile()  # which no other need do
# A pmap inside of another goes over this process's devices alone.
inner = lambda v: (mj.lax.psum(v, "o"), mj.lax.psum(v, ("o", "i")))
nested = mj.pmap(lambda row: mj.pmap(inner, "i")(row), "o")
columns, everything = nested(np.arange(2).reshape(1, 2) + 10 * me)
assert (columns.tolist(), everything.tolist()) == ([[10, 12]], [[22, 22]])
print(mj.local_device_count(), float(mj.jit(lambda x: x.sum())(x)), *sys.argv[1:])
step(x).block_until_ready()
"""


def test_programs_that_differ_are_found_and_the_launcher_reports_them(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(DIFFERS)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "minijax.launch",
            "-n",
            "2",
            "--devices-per-process",
            "2",
            str(script),
            "--steps",
            "3",
        ],
        text=True,
        capture_output=True,
        timeout=LIMIT,
        env=environment(),
    )
    output, wrong = done.stdout.splitlines(), done.stderr
    assert {"[0] 2 6.0 --steps 3", "[1] 2 6.0 --steps 3"} <= set(output), done
    assert done.returncode == 1
    assert "compiles a different program than process" in wrong
    assert re.search(r"process 1: %\d = stablehlo.cosine %\d : tensor<4xf32>", wrong)
    assert "jit(step)/" in wrong
    assert f"{script}:1" in wrong
    # Who compiles last finds it; if both do, neither waits for the other's word.
    both = wrong.count("compiles a different program than process") > 1
    assert both or "has ended with an error; process" in wrong
    assert re.search(r"launch\] process [01] ended with status 1; the others", wrong)


@pytest.mark.parametrize("args", [["-n", "0", "x.py"], ["x.py"], ["-n", "2"]])
def test_launchers_arguments(args, capsys):
    with pytest.raises(SystemExit):
        launcher.main(args)
    assert "usage: python -m minijax.launch" in capsys.readouterr().err


# --------------------------------------------------------------------------- roll call


def gathered(*who: tuple[int, int], timeout: float = 30.0, bind: str | None = None):
    """What processes, each a number and how many there are, see as the roll is called."""
    port = free_port()
    results: list[object] = [None] * len(who)
    calls = [ProcessMembership(*each) for each in who]

    def call(k: int) -> None:
        try:
            calls[k].gather(f"127.0.0.1:{port}", bind or f"[::]:{port}", timeout)
            calls[k].open()
        except RuntimeError as e:
            results[k] = str(e)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(len(who))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    for c in calls:
        c.close()
    return results


def test_all_processes_are_present():
    assert gathered((0, 3), (2, 3), (1, 3)) == [None] * 3


def test_who_is_missing_is_named():
    for timeout in (0.5, 4, 32):  # a busy machine may need more for those who come
        results = gathered((0, 4), (2, 4), timeout=timeout)
        missing = f"processes 1, 3 have not connected within {timeout} seconds, of 4"
        if all(missing in x for x in results):
            break
    else:
        pytest.fail(str(results))
    for timeout in (0.3, 4, 32):
        results = gathered((1, 3), (2, 3), timeout=timeout)
        if all("process 0 has not connected" in x and "refused" in x for x in results):
            break
    else:
        pytest.fail(str(results))


def test_processes_that_do_not_fit():
    results = gathered((0, 3), (1, 3), (1, 3))
    assert all("two processes have process_id=1." in x for x in results)
    results = gathered((0, 2), (1, 3))
    assert all(
        "process 1 has num_processes=3, and process 0 has num_processes=2" in x for x in results
    )


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as s:
        bind = f"127.0.0.1:{s.getsockname()[1]}"
        (text,) = gathered((0, 2), bind=bind)
    assert f"process 0 cannot listen on {bind}" in text


def test_another_program_answers():
    def answer(s: socket.socket) -> None:
        line, _ = s.accept()
        line.sendall(b"HTTP/1.1 400 Bad Request\n")
        line.close()

    with socket.create_server(("127.0.0.1", 0)) as s:
        address = f"127.0.0.1:{s.getsockname()[1]}"
        thread = threading.Thread(target=answer, args=(s,))
        thread.start()
        with pytest.raises(RuntimeError, match="process 0 has not connected") as e:
            ProcessMembership(1, 2).gather(address, "", 0.2)
        assert f"another program answers at {address}" in str(e.value)
        thread.join(LIMIT)


# ------------------------------------------------------------------------- the arguments


@pytest.mark.parametrize(
    "args, error, says",
    [
        ((), ValueError, "coordinator_address should be defined."),
        (("h:1",), ValueError, "Number of processes must be defined."),
        (("h:1", 2), ValueError, "The process id of the current process must be defined."),
        (("h:1", 2, 2), ValueError, "with process_id < num_processes"),
        (("h:1", 2, "1"), TypeError, "process_id must be a nonnegative int"),
        (("h:1", 2.0, 1), TypeError, "num_processes must be a positive int"),
        (("h", 2, 1), ValueError, "is not a host and a port: 'h'"),
        (("h:1", 2, 0, None, "teleport"), ValueError, "'teleport' is unknown"),
        (("h:1", 2, 0, None, "slurm"), ValueError, "'slurm' is not available"),
    ],
)
def test_arguments_that_do_not_do(monkeypatch, args, error, says):
    monkeypatch.setattr("minijax.runtime.backends.client._clients", {})
    clean(monkeypatch)
    with pytest.raises(error, match=says.replace(".", r"\.")):
        mj.distributed.initialize(*args)
    assert not mj.distributed.is_initialized()


def test_it_is_too_late():
    mj.devices()
    with pytest.raises(RuntimeError, match=r"must be called before any JAX calls"):
        mj.distributed.initialize("127.0.0.1:1", 1, 0)


def clean(monkeypatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(("SLURM_", "OMPI_", "KUBERNETES_", "JAX_COORDINATOR")):
            monkeypatch.delenv(name)


SLURM = {
    "SLURM_JOB_ID": "123456",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}
OMPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}


# Addresses recorded from JAX 0.10.2.
@pytest.mark.parametrize(
    "variables, address",
    [
        ({**SLURM, "SLURM_STEP_NODELIST": "node001"}, "node001:62016"),
        ({**SLURM, "SLURM_STEP_NODELIST": "node001,host2"}, "node001:62016"),
        ({**SLURM, "SLURM_STEP_NODELIST": "node[001-0015],host2"}, "node001:62016"),
        ({**SLURM, "SLURM_STEP_NODELIST": "node[001,007-015],host2"}, "node001:62016"),
        (
            {**OMPI, "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"},
            "10.96.0.1:62624",
        ),
        (
            {
                environments.ADDRESS: "10.0.0.1:80",
                environments.COUNT: "4",
                environments.INDEX: "3",
            },
            "10.0.0.1:80",
        ),
    ],
)
def test_environments(monkeypatch, variables, address):
    clean(monkeypatch)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    environment = environments.find(None)
    assert (environment.address(None, 1.0), environment.processes(), environment.process()) == (
        address,
        4,
        3,
    )
    assert environment.address("99", 1.0).endswith(":99" if len(variables) > 3 else ":80")
    assert environment.local() == (1 if len(variables) > 3 else None)


def test_a_job_of_kubernetes(monkeypatch, tmp_path):
    """As its API server tells of it; stood in for by what has the same attributes."""
    clean(monkeypatch)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("HOSTNAME", "localhost")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "3")
    (tmp_path / "namespace").write_text("training\n")
    monkeypatch.setattr(environments, "_NAMESPACE", tmp_path / "namespace")
    requests, known = [], types.SimpleNamespace
    pod = known(metadata=known(labels={"job-name": "localhost"}), spec=known(subdomain=None))
    job = known(metadata=known(name="job", labels={}), spec=known(parallelism=4))

    class Core:
        def list_namespaced_pod(self, namespace, field_selector):
            requests.append((namespace, field_selector))
            return known(items=[pod])

    class Batch:
        def read_namespaced_job(self, name, namespace):
            return job

    module = types.ModuleType("kubernetes")
    module.__spec__ = importlib.machinery.ModuleSpec("kubernetes", None)
    module.config = known(load_incluster_config=lambda: None)
    failure = type("ApiException", (Exception,), {})
    module.client = known(
        CoreV1Api=Core, BatchV1Api=Batch, exceptions=known(ApiException=failure)
    )
    with pytest.warns(UserWarning, match="`kubernetes` package is not installed"):
        assert environments.find(None) is None
    monkeypatch.setitem(sys.modules, "kubernetes", module)
    environment = environments.find(None)
    assert (environment.processes(), environment.process(), environment.local()) == (4, 3, None)
    assert requests[0] == ("training", "status.podIP=127.0.0.1")
    with pytest.raises(RuntimeError, match="need a headless service"):
        environment.address(None, 0.0)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port: [host])
    pod.spec.subdomain = "workers"
    assert environment.address(None, 0.0) == "job-0.workers:55527"
    job.metadata.labels["jobset.sigs.k8s.io/jobset-name"] = "set"
    assert environment.address("99", 0.0) == "job-0.set:99"
    pod.metadata.labels.clear()
    with pytest.raises(RuntimeError, match="only supports Job/JobSet"):
        environment.processes()
    monkeypatch.delenv("JOB_COMPLETION_INDEX")
    with pytest.raises(RuntimeError, match="completionMode"):
        environment.process()


def test_processes_that_mpi_started(monkeypatch):
    """mpi4py stood in for by what has the same names; it is used if asked for alone."""
    clean(monkeypatch)
    world = types.SimpleNamespace(
        Get_rank=lambda: 3,
        Get_size=lambda: 4,
        bcast=lambda x, root: "first:61440",
        Split_type=lambda kind: types.SimpleNamespace(Get_rank=lambda: 1),
    )
    package, module = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.MPI")
    package.__spec__ = importlib.machinery.ModuleSpec("mpi4py", None)
    module.COMM_WORLD, module.COMM_TYPE_SHARED = world, 0
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
    assert environments.find(None) is None
    environment = environments.find("mpi4py")
    assert (environment.processes(), environment.process(), environment.local()) == (4, 3, 1)
    assert environment.address(None, 0.0) == "first:61440"


# ------------------------------------------------------------------------------ alone


def test_alone():
    """With one process: recorded from JAX 0.10.2."""
    x = {"a": np.arange(2), "b": 3.0}
    sent = hosts.broadcast_one_to_all(x)
    assert sent["a"].dtype == np.int64 and sent["b"].shape == () and sent["b"] == 3.0
    stacked = hosts.process_allgather(x)
    assert stacked["a"].tolist() == [[0, 1]] and stacked["b"].tolist() == [3.0]
    tiled = hosts.process_allgather(x, tiled=True)
    assert tiled["a"].tolist() == [0, 1] and tiled["b"].shape == ()
    assert hosts.sync_global_devices("x") is None
    assert hosts.assert_equal(x, "same") is None
    mesh = mj.make_mesh((2, 4), ("x", "y"))
    y = hosts.host_local_array_to_global_array(np.arange(8), mesh, mj.P(("x", "y")))
    assert y.sharding == mj.NamedSharding(mesh, mj.P(("x", "y")))
    assert hosts.global_array_to_host_local_array(y, mesh, mj.P()) is y
    with pytest.raises(RuntimeError, match="not initialized"), hosts.live_devices([1]):
        pass
    assert hosts.reached_preemption_sync_point(1) is False
    mj.distributed.shutdown()


def test_the_two_directions_are_transposes():
    mesh = mj.sharding.Mesh(np.array(mj.devices()[:2]), ("x",))
    to_global = lambda x: hosts.host_local_array_to_global_array(x, mesh, mj.P("x"))
    back = lambda x: hosts.global_array_to_host_local_array(x, mesh, mj.P("x"))
    x = mj.numpy.arange(4.0)
    assert mj.grad(lambda x: (back(to_global(x)) ** 2).sum())(x).tolist() == [0, 2, 4, 6]
    rows = mj.vmap(to_global)(x.reshape(2, 2))
    assert rows.shape == (2, 2) and rows.sharding.spec == mj.P(None, "x")
    assert mj.make_jaxpr(to_global)(x).eqns[0].primitive.name == (
        "host_local_array_to_global_array"
    )
