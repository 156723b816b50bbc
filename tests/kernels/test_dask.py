"""Dask arrays in, lazy Dask arrays out: the results of NumPy arrays, in chunks along the batch."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import armdyn
from armdyn import ArmdynError, Robot, get_threads, set_threads
from armdyn.kernels.kernel import get_backend
from armdyn.kernels.threads import one_thread
from armdyn.robot.functions import FUNCTIONS
from arms import assert_same, law, slowly
from friction_arms import rubbing
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple, rotated_sum

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
libraries_dask = pytest.importorskip("armdyn.kernels.dask")


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="sync"), armdyn.backend("evaluator"):
        yield


def lazy(x, *chunks):
    return da.from_array(x, chunks=(*chunks, *(-1,) * (x.ndim - len(chunks))))


@pytest.mark.parametrize("name", [slowly("scara"), "five_bar"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function(function, name):
    robot = Robot.load(name)
    inputs = arguments(robot, function, (7,))
    if name == "five_bar":  # near the posture in which its loop is described
        middle = np.array(robot.model.choice.posture)[list(robot.model.choice.free)]
        inputs[0] = middle + 0.1 * inputs[0]
        if function == "friction":
            inputs = [inputs[0]]
    given = [lazy(x, 3) for x in inputs]
    if name == "five_bar" and function == "friction":
        found, expected = robot.friction(given[0], q=lazy(middle)), robot.friction(inputs[0], q=middle)
    else:
        found, expected = getattr(robot, function)(*given), getattr(robot, function)(*inputs)
    for x, y in zip(as_tuple(found), as_tuple(expected), strict=True):
        assert isinstance(x, da.Array)
        assert (x.shape, x.dtype, x.ndim) == (y.shape, y.dtype, y.ndim)
        assert x.chunks[0] == (3, 3, 1)
        assert all(len(sizes) == 1 for sizes in x.chunks[1:])
        np.testing.assert_array_equal(x.compute(), y)


@law(rubbing((2, 4)), examples=3)
def test_wrenches_and_parameters_of_random_arms(robot):
    optional = ["wrench", "parameters"]
    q, qd, qdd, wrench, parameters = arguments(robot, "inverse_dynamics", (5,), optional=optional)
    found = robot.inverse_dynamics(
        lazy(q, 2), qd, qdd.tolist(), lazy(wrench, 3), parameters=lazy(parameters, 5)
    )
    assert found.chunks[0] == (2, 1, 1, 1)
    expected = robot.inverse_dynamics(q, qd, qdd, wrench, parameters=parameters)
    np.testing.assert_array_equal(found.compute(), expected)


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch):
    robot = Robot.load("rp")
    monkeypatch.setattr(libraries_dask.BlockCall, "__call__", lambda *_: pytest.fail("computed"))
    huge = da.zeros((10**9, 1, 2), chunks=(10**6, 1, 2))
    found = robot.inverse_dynamics_derivatives(huge, np.zeros((3, 2)), [0.0, 1.0])
    assert [x.shape for x in found] == [(10**9, 3, 2, 2)] * 3
    assert [x.dtype for x in found] == [np.float64] * 3
    assert robot._kernels["inverse_dynamics_derivatives"]._runs == {}  # not even compiled


def test_inputs_broadcast_in_chunks():
    robot = Robot.load("rp")
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (6, 1, 2)), rng.uniform(-1, 1, (5, 2))
    found = robot.coriolis(da.from_array(q, chunks=(4, 1, 1)), da.from_array(qd, chunks=(2, 1)))
    assert found.chunks == ((4, 2), (2, 2, 1), (2,), (2,))
    np.testing.assert_array_equal(found.compute(), robot.coriolis(q, qd))
    np.testing.assert_array_equal(robot.coriolis(lazy(q), qd[:0]).compute(), robot.coriolis(q, qd[:0]))
    single = robot.kinetic_energy(lazy(q[0, 0]), lazy(qd[0]))
    assert single.shape == ()
    assert single.compute() == robot.kinetic_energy(q[0, 0], qd[0])


def test_selections_whose_length_is_not_known():
    robot = Robot.load("rp")
    q = np.random.default_rng(0).uniform(-1, 1, (9, 2))
    chosen = lazy(q, 4)[lazy(q, 4)[:, 0] > 0]
    assert_same(robot.coriolis(chosen, chosen).compute(), robot.coriolis(q[q[:, 0] > 0], q[q[:, 0] > 0]), 0)
    with golden_error(ArmdynError):
        robot.coriolis(chosen, lazy(q, 4))


def test_several_results_share_one_evaluation(monkeypatch):
    robot = Robot.load("rp")
    q = np.random.default_rng(0).uniform(-1, 1, (8, 2))
    calls = []
    run = libraries_dask.BlockCall.__call__
    monkeypatch.setattr(libraries_dask.BlockCall, "__call__", lambda *x: (calls.append(x), run(*x))[1])
    found = dask.compute(*robot.inverse_dynamics_derivatives(lazy(q, 4), q, q))
    assert len(calls) == 2  # one for each block
    for x, y in zip(found, robot.inverse_dynamics_derivatives(q, q, q), strict=True):
        np.testing.assert_array_equal(x, y)


def test_all_that_is_done_with_a_block_is_one_task():
    robot = Robot.load("rp")
    q = da.zeros((8, 2), chunks=(2, 2)) + 1
    (graph,) = dask.optimize(robot.inverse_dynamics(q, 2 * q, 3 * q) ** 2)
    assert len(dict(graph.__dask_graph__())) == 4


def test_wrenches_on_links():
    robot = Robot.load("scara")
    first, second = list(robot.model.index)[1:3]
    q, qd, qdd = arguments(robot, "inverse_dynamics", (6,))
    wrench = np.random.default_rng(1).uniform(-1, 1, (6, 6))
    found = robot.inverse_dynamics(q, qd, qdd, {first: lazy(wrench, 4), second: [1.0] * 6})
    assert isinstance(found, da.Array)
    expected = robot.inverse_dynamics(q, qd, qdd, {first: wrench, second: [1.0] * 6})
    np.testing.assert_array_equal(found.compute(), expected)


def test_wrenches_on_links_of_selections():
    robot = Robot.load("rp")
    first, second = robot.model.index
    q, wrench = np.random.default_rng(0).uniform(-1, 1, (9, 2)), np.ones((9, 6))
    chosen = q[:, 0] > 0
    given = [lazy(x, 4)[lazy(chosen, 4)] for x in (q, wrench)]
    found = robot.inverse_dynamics(*[given[0]] * 3, {first: given[1], second: [2] * 6})
    expected = robot.inverse_dynamics(*[q[chosen]] * 3, {first: wrench[chosen], second: [2] * 6})
    assert_same(found.compute(), expected, 0)


@pytest.mark.parametrize("name", ["rp", "five_bar"])
def test_all_joints(name):
    robot = Robot.load(name)
    start = np.array(robot.model.choice.posture)[list(robot.model.choice.free)] if robot.model.loops else 0
    q = start + np.random.default_rng(0).uniform(-0.1, 0.1, (5, robot.n))
    assert_same(robot.joint_positions(lazy(q, 2)).compute(), robot.joint_positions(q), 0)
    assert_same(robot.joint_velocities(lazy(q, 2), lazy(q, 2)).compute(), robot.joint_velocities(q, q), 0)
    kernel = pickle.loads(pickle.dumps(robot._kernels["joint_positions"]))
    assert_same(kernel(q), robot.joint_positions(q), 0)


def test_single_precision_stays():
    robot = Robot.load("rp")
    q = np.ones((4, 2), np.float32)
    found = robot.coriolis(lazy(q, 2), q)
    assert found.dtype == found.compute().dtype == np.float32
    assert robot.coriolis(lazy(q, 2), q.astype(float)).dtype == np.float64


def test_the_backend_is_that_of_the_call(monkeypatch):
    robot, seen = Robot.load("rp"), []
    found = robot.gravity(lazy(np.zeros((2, 2))))
    call = type(robot._kernels["gravity"]).call
    monkeypatch.setattr(
        type(robot._kernels["gravity"]), "call", lambda *x: (seen.append(get_backend()), call(*x))[1]
    )
    with armdyn.backend("compiled"):
        found.compute()
    assert seen == ["evaluator"]


def test_a_block_takes_one_thread_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("ARMDYN_THREADS", raising=False)
    with one_thread():
        assert get_threads() == 1
        set_threads(3)
        assert get_threads() == 3
        set_threads(None)
        monkeypatch.setenv("ARMDYN_THREADS", "2")
        assert get_threads() == 2
    seen = []
    kernel = Robot.load("rp")._kernels["gravity"]
    monkeypatch.delenv("ARMDYN_THREADS")
    monkeypatch.setattr(kernel, "call", lambda *_: seen.append(get_threads()))
    libraries_dask.BlockCall(kernel, "evaluator")(np.zeros((3, 2)))
    assert seen == [1]


def test_kernels_travel_as_their_robot_and_are_made_once():
    robot = Robot.load("panda").with_payload(1.25)
    for key in ("inverse_dynamics", ("gravity", "", "parameters")):
        sent = pickle.dumps(robot._kernels[key])
        assert len(sent) < 20_000
        kernel = pickle.loads(sent)
        assert pickle.loads(sent) is kernel
        assert pickle.loads(pickle.dumps(kernel)) is kernel  # sent on
        assert kernel.specification.identity == robot._kernels[key].specification.identity
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(rotated_sum(2))


@pytest.mark.slow
def test_another_process_computes_the_same(tmp_path):
    robot = Robot.load("scara").with_payload(0.5)
    block = libraries_dask.BlockCall(robot._kernels["inverse_dynamics"], "evaluator")
    states = arguments(robot, "inverse_dynamics", (5,))
    (tmp_path / "block").write_bytes(pickle.dumps((block, states)))
    code = "import pickle, sys; block, states = pickle.loads(open(sys.argv[1], 'rb').read())\n"
    code += "open(sys.argv[1], 'wb').write(pickle.dumps(block(*states)))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "block")], check=True)
    found = pickle.loads((tmp_path / "block").read_bytes())
    assert_same(found, robot.inverse_dynamics(*states), 1e-12)


@pytest.mark.slow
def test_a_cluster_of_two_processes():
    distributed = pytest.importorskip("distributed")
    robot = Robot.load("panda")
    states = arguments(robot, "inverse_dynamics", (1000,))
    expected = robot.inverse_dynamics(*states)
    size = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        armdyn.backend("compiled"),
        distributed.LocalCluster(**size) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = client.compute(robot.inverse_dynamics(*(lazy(x, 100) for x in states))).result()
    assert_same(found, expected, 1e-12)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda r, q: r.gravity(q, out=np.zeros((4, 2))), ArmdynError),
        (lambda r, q: r.gravity(q[:, :1]), ArmdynError),
        (lambda r, q: r.gravity(q[0, 0]), ArmdynError),
        (lambda r, q: r.gravity(q > 0), TypeError),
        (lambda r, q: r.gravity(da.ma.masked_less(q, 0)), TypeError),
        (lambda r, q: Robot.load("five_bar").gravity(q[:, :1]), ArmdynError),
        (lambda r, q: r.gravity(q + 1j), TypeError),
        (lambda r, q: r.coriolis(q, q[:3]), ArmdynError),
        (lambda r, q: r.coriolis(q, "x"), TypeError),
        (lambda r, q: r.gravity(dask.delayed(3)), TypeError),
    ],
)
def test_wrong_inputs_are_refused_at_once(make, error):
    with golden_error(error):
        make(Robot.load("rp"), da.zeros((4, 2), chunks=2))
