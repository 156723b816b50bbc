"""Tensors of PyTorch on a GPU: shared with CuPy, on PyTorch's stream, with gradients. Needs a GPU."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from armdyn import Robot
from arms import Part, Plan, table_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors on a GPU were not tested")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU: tensors on one were not tested", allow_module_level=True)
pytest.importorskip("cupy", reason="CuPy is not installed: tensors on a GPU were not tested")

PARTS = (
    Part("a", "base", "revolute", "base", (), True),
    Part("b", "a", "prismatic", "base", ("a",), False),
    Part("c", "b", "revolute", "a", (), True),
)


@pytest.fixture(scope="module")
def robot():
    return Robot.from_dict(table_of(Plan(PARTS, "exact", "c", 5)))


def state(robot, rows=(50,), count=3):
    rng = np.random.default_rng(1)
    return [torch.tensor(rng.uniform(0.2, 1.0, (*rows, robot.n))) for _ in range(count)]


def test_numbers(robot):
    given = state(robot)
    for name, count in (("inverse_dynamics", 3), ("inertia", 1), ("inverse_dynamics_derivatives", 3)):
        method = getattr(robot, name)
        found, expected = (method(*(x.to(where) for x in given[:count])) for where in ("cuda", "cpu"))
        for y, right in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True):
            assert y.is_cuda
            assert y.dtype == torch.float64
            torch.testing.assert_close(y.cpu(), right, rtol=1e-11, atol=1e-11)


def test_gradients(robot):
    inputs = [x.cuda().requires_grad_() for x in state(robot, (2,))]
    parameters = torch.tensor(robot.parameters).cuda().requires_grad_()
    wrench = torch.ones(6, dtype=torch.float64).cuda().requires_grad_()

    def function(q, qd, tau, wrench, parameters):
        return robot.forward_dynamics(q, qd, tau, wrench, parameters=parameters)

    assert torch.autograd.gradcheck(function, (*inputs, wrench, parameters), atol=1e-4, rtol=1e-4)


def test_streams(robot):
    given = [x.cuda() for x in state(robot, (200_000,))]
    expected = robot.inverse_dynamics(*given)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        moved = [2 * x for x in given]
        found = robot.inverse_dynamics(*(x / 2 for x in moved)) + 1
    stream.synchronize()
    torch.testing.assert_close(found - 1, expected, rtol=1e-9, atol=1e-9)


def test_a_graph_whose_inputs_change(robot):
    given = [x.cuda() for x in state(robot)]
    robot.inverse_dynamics(*given)  # compiled before
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = robot.inverse_dynamics(*given)
    for k in range(3):
        for x in given:
            x += 0.1 * k
        graph.replay()
        torch.testing.assert_close(found, robot.inverse_dynamics(*given), rtol=0, atol=0)


def test_threads_on_streams_of_their_own(robot):
    given = [[k + x.cuda() for x in state(robot)] for k in range(8)]
    expected = [robot.inverse_dynamics(*x) for x in given]
    torch.cuda.synchronize()

    def found(k):
        with torch.cuda.stream(torch.cuda.Stream()):
            several = [robot.inverse_dynamics(*given[k]) for _ in range(50)]
            torch.cuda.current_stream().synchronize()
        return several

    with ThreadPoolExecutor(8) as pool:
        for several, right in zip(pool.map(found, range(8)), expected, strict=True):
            assert all(torch.equal(y, right) for y in several)


def test_views_with_the_other_sign(robot):
    q, qd, qdd = (x.cuda() for x in state(robot))
    plain = robot.inverse_dynamics(q, qd, qdd)
    mirrored = torch.complex(torch.zeros_like(q), -q).conj().imag
    assert mirrored.is_neg()
    torch.testing.assert_close(robot.inverse_dynamics(mirrored, qd, qdd), plain)


def test_wrong_devices(robot):
    q, qd, qdd = state(robot)
    with pytest.raises(Exception, match="cuda"):
        robot.inverse_dynamics(q.cuda(), qd, qdd)
