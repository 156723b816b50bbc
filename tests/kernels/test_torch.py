"""Tensors of PyTorch: numbers as NumPy's, memory shared, gradients checked, transforms, errors."""

import gc
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from armdyn import BaseMotion, Robot
from armdyn.kernels import Kernel
from armdyn.robot.functions import FUNCTIONS
from arms import Part, Plan, table_of
from closed_chains import four_bar
from kernel_tools import arguments, as_tuple

torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors were not tested")

gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
WRENCH_AND_PARAMETERS = ["wrench", "parameters"]


def random_arm(seed=5):
    """A tree with a prismatic joint, full tensors, motors on various carriers, a coupled one, friction."""
    parts = (
        Part("a", "base", "revolute", "base", (), True),
        Part("b", "a", "prismatic", "base", ("a",), False),
        Part("c", "a", "revolute", "b", (), True),
    )
    return Robot.from_dict(table_of(Plan(parts, "exact", "c", seed)))


def tensors(robot, function, rows=(), seed=0, optional=(), grad=False):
    return [torch.tensor(x, requires_grad=grad) for x in arguments(robot, function, rows, seed, optional)]


def called(robot, function, *inputs):
    """A function with wrench and parameters as its last inputs."""
    *required, wrench, parameters = inputs
    return getattr(robot, function)(*required, wrench, parameters=parameters)


def assert_close(found, expected, tolerance=1e-12):
    assert found.shape == expected.shape
    torch.testing.assert_close(
        found, expected, rtol=tolerance, atol=tolerance * float(expected.detach().abs().max())
    )


# ---- numbers and memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("rows", [(), (3,)], ids=str)
def test_numbers_are_those_of_numpy(function, rows):
    robot = Robot.load("rp")
    arrays = arguments(robot, function, rows)
    expected = as_tuple(getattr(robot, function)(*arrays))
    given = [torch.tensor(x, requires_grad=True) for x in arrays]
    with torch.no_grad():
        plain = getattr(robot, function)(*given)
    with_gradients = getattr(robot, function)(*given)
    assert type(plain) is type(with_gradients) is (tuple if len(expected) > 1 else torch.Tensor)
    for x, y, z in zip(as_tuple(plain), as_tuple(with_gradients), expected, strict=True):
        assert y.requires_grad
        assert not x.requires_grad
        np.testing.assert_array_equal(x.numpy(), z, strict=True)
        np.testing.assert_array_equal(y.detach().numpy(), z, strict=True)


def test_the_dtype_is_float32_when_all_inputs_are():
    robot = Robot.load("rp")
    q, qd = tensors(robot, "coriolis", (4,))
    single = robot.coriolis(q.float(), qd.float())
    assert single.dtype == torch.float32
    np.testing.assert_array_equal(
        single.numpy(), robot.coriolis(q.numpy().astype("f4"), qd.numpy().astype("f4"))
    )
    mixed = robot.coriolis(q.float(), qd)
    assert mixed.dtype == torch.float64
    np.testing.assert_array_equal(mixed.numpy(), robot.coriolis(q.numpy().astype("f4"), qd.numpy()))
    x = q.float().requires_grad_()
    robot.coriolis(x, qd).sum().backward()
    assert x.grad.dtype == torch.float32


def test_memory_is_shared(monkeypatch):
    """The kernel reads the tensors' memory, strides and all, and the result is what it wrote."""
    seen = []

    def spy(kernel, arrays, out, near=None, call=Kernel.call):
        found = call(kernel, arrays, out, near)
        seen.append((arrays, found))
        return found

    robot = Robot.load("rp")
    q, qd = (x[:, 1:3] for x in torch.randn(2, 5, 4, dtype=torch.float64))
    monkeypatch.setattr(Kernel, "call", spy)
    for grad in (False, True):
        seen.clear()
        result = robot.coriolis(q.requires_grad_(grad), qd)
        arrays, written = seen[0]
        assert [x.ctypes.data for x in arrays] == [q.data_ptr(), qd.data_ptr()]
        assert result.data_ptr() == written.ctypes.data


def test_out_takes_the_result():
    robot = Robot.load("rp")
    q, qd, qdd = tensors(robot, "inverse_dynamics", (3,))
    out = torch.zeros(3, 2, dtype=torch.float64)
    version = out._version
    assert robot.gravity(q, out=out) is out
    assert out._version > version  # gradients that need the old numbers are refused by PyTorch
    assert torch.equal(out, robot.gravity(q))
    slopes = torch.zeros(3, 2, 2, dtype=torch.float64)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, out=(None, slopes, None))
    assert found[1] is slopes
    for x, y in zip(found, robot.inverse_dynamics_derivatives(q, qd, qdd), strict=True):
        assert torch.equal(x, y)


def test_pytorch_is_imported_only_for_tensors():
    code = (
        "import sys, numpy, armdyn; robot = armdyn.Robot.load('rp'); robot.gravity(numpy.zeros(2));"
        "assert 'torch' not in sys.modules; import torch;"
        "robot.gravity(torch.zeros(2)); assert 'armdyn.kernels.torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# ---- gradients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_gradcheck_with_wrench_and_parameters(function):
    robot = random_arm()
    given = tensors(robot, function, (2,), optional=WRENCH_AND_PARAMETERS, grad=True)
    if function == "forward_dynamics":
        given[2] = (given[2].detach() * 10).requires_grad_()
    assert gradcheck(lambda *x: called(robot, function, *x), given)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if "dynamics" not in name])
def test_gradcheck(function):
    robot = random_arm(7)
    assert gradcheck(getattr(robot, function), tensors(robot, function, (2,), grad=True))


def test_gradgradcheck():
    robot = random_arm(9)
    given = tensors(robot, "inverse_dynamics", optional=WRENCH_AND_PARAMETERS, grad=True)
    assert gradgradcheck(lambda *x: called(robot, "inverse_dynamics", *x), given)


@pytest.mark.filterwarnings("ignore:.torch.jit.script")
@pytest.mark.parametrize("make", [random_arm, four_bar])
def test_forward_mode(make):
    robot = make()
    q, qd, qdd = tensors(robot, "inverse_dynamics", (2,), grad=True)
    assert gradcheck(robot.inverse_dynamics, [q, qd, qdd.detach()], check_forward_ad=True)
    assert gradgradcheck(robot.gravity, [q], check_fwd_over_rev=True)


def test_gradients_are_summed_over_broadcast_axes():
    robot = random_arm()
    shapes = [(3, 1, 3), (2, 3), (3,), (1, 1, 6), (3, 2, len(robot.parameters))]
    given = [torch.tensor(x) for x in arguments(robot, "inverse_dynamics", (), 0, WRENCH_AND_PARAMETERS)]
    generator = torch.Generator().manual_seed(3)
    given = [
        (x * (1 + torch.rand(shape, dtype=x.dtype, generator=generator))).requires_grad_()
        for x, shape in zip(given, shapes, strict=True)
    ]
    c = torch.rand(3, 2, 3, dtype=torch.float64, generator=generator)
    found = torch.autograd.grad((c * called(robot, "inverse_dynamics", *given)).sum(), given)
    whole = [x.detach().expand(3, 2, x.shape[-1]).clone().requires_grad_() for x in given]
    expected = torch.autograd.grad((c * called(robot, "inverse_dynamics", *whole)).sum(), whole)
    for x, y in zip(found, expected, strict=True):
        assert_close(x, y.sum_to_size(x.shape))


def test_only_what_needs_a_gradient_gets_one():
    robot = random_arm()
    q, qd, qdd, wrench, parameters = tensors(robot, "inverse_dynamics", (2,), optional=WRENCH_AND_PARAMETERS)
    parameters.requires_grad_()
    c = torch.ones(2, 3, dtype=torch.float64)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench, parameters=parameters)
    (found,) = torch.autograd.grad(tau, [parameters], c)
    assert_close(found, torch.einsum("bi,bip->bp", c, robot.regressor(q, qd, qdd)))
    assert q.grad is None


def test_jacobians_are_the_derivative_functions():
    robot = random_arm(3)
    state = tensors(robot, "inverse_dynamics")
    expected = robot.inverse_dynamics_derivatives(*state)
    by_transform = torch.func.jacrev(robot.inverse_dynamics, (0, 1, 2))(*state)
    by_autograd = torch.autograd.functional.jacobian(robot.inverse_dynamics, tuple(state))
    for x, y, z in zip(by_transform, by_autograd, expected, strict=True):
        assert_close(x, z)
        assert_close(y, z)


@pytest.mark.filterwarnings("ignore:.torch.jit.script")  # PyTorch warns of itself
def test_second_derivatives_by_transforms():
    """∂²U/∂q² is ∂g/∂q."""
    robot = random_arm(3)
    (q,) = tensors(robot, "gravity")
    expected = torch.func.jacrev(robot.gravity)(q)
    jacfwd, jacrev = torch.func.jacfwd, torch.func.jacrev
    assert_close(jacfwd(robot.gravity)(q), expected)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev):
            assert_close(outer(inner(robot.potential_energy))(q), expected)
    assert_close(torch.func.vmap(torch.func.hessian(robot.potential_energy))(q[None])[0], expected)


def test_wrenches_by_link_and_a_moving_base():
    robot = random_arm()
    q, qd, qdd = tensors(robot, "inverse_dynamics", (2,))
    generator = torch.Generator().manual_seed(1)
    a, b, w = (torch.rand(n, dtype=torch.float64, generator=generator) for n in (6, 6, 3))

    def torques(a, w):
        return robot.inverse_dynamics(q, qd, qdd, {"c": a, "a": b.tolist()}, base=BaseMotion(w))

    expected = robot.inverse_dynamics(
        *(x.numpy() for x in (q, qd, qdd)), {"a": b.numpy(), "c": a.numpy()}, base=BaseMotion(w.numpy())
    )
    np.testing.assert_array_equal(torques(a, w).numpy(), expected)
    assert gradcheck(torques, [a.requires_grad_(), w.requires_grad_()])


def test_dry_friction_has_slope_zero():
    table = Robot.load("rp").to_dict()
    rubbing = [link | {"friction": {"viscous": 0.5, "coulomb": 3}} for link in table["link"]]
    qd = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(Robot.from_dict(table | {"link": rubbing}).friction(qd).sum(), [qd])
    assert found.tolist() == [0.5, 0.5]  # viscous alone


def test_loops():
    """Through assembly: positions follow the coordinates at the rates S."""
    robot = four_bar(friction={"viscous": 0.3})
    state = tensors(robot, "inverse_dynamics", (2,))
    expected = robot.inverse_dynamics(*(x.numpy() for x in state))
    np.testing.assert_array_equal(robot.inverse_dynamics(*state).numpy(), expected)
    slopes = robot.inverse_dynamics_derivatives(*state)
    for x in state:
        x.requires_grad_()
    assert gradcheck(robot.inverse_dynamics, state)
    assert gradgradcheck(robot.gravity, state[:1])
    assert gradcheck(lambda qd, q: robot.friction(qd, q=q), [state[1], state[0]])
    found = torch.autograd.grad(robot.inverse_dynamics(*state).sum(), state)
    for x, y in zip(found, slopes, strict=True):
        assert_close(x, y.sum(-2))
    mapped = torch.func.vmap(torch.func.grad(robot.potential_energy))(state[0].detach())
    assert_close(mapped, robot.gravity(state[0].detach()), 1e-10)


def test_all_joints():
    """Relations and loops; the rates of positions are velocities."""
    closed, related = four_bar(), Robot.load("rp")
    q, qd = (x.requires_grad_() for x in tensors(closed, "coriolis", (2,)))
    expected = torch.tensor(closed.joint_positions(q.detach().numpy()))
    assert torch.equal(closed.joint_positions(q), expected)
    (slope,) = torch.autograd.grad(closed.joint_positions(q).sum(), q)
    assert_close(slope * qd, closed.joint_velocities(qd, q).sum(-1, keepdim=True))
    assert gradcheck(closed.joint_velocities, [qd, q])
    assert torch.equal(related.joint_velocities(torch.ones(2).double()), torch.ones(2).double())


def test_the_gradient_by_a_whole_posture_is_refused():
    """Assembly takes all positions too; gradients are by the coordinates."""
    robot = four_bar()
    q, qd = tensors(robot, "coriolis", (2,))
    posture = torch.tensor(robot.assembly(q.numpy()))
    qd.requires_grad_()
    assert_close(robot.coriolis(posture, qd), robot.coriolis(q, qd))
    with pytest.raises(ValueError, match=r"q: expected \(\.\.\., 1\), found \(2, 3\)"):
        robot.coriolis(posture.requires_grad_(), qd)


def test_views_that_stand_for_their_negative():
    """PyTorch has some, such as the imaginary part of a conjugate: their memory has other signs."""
    robot = Robot.load("rp")
    q = torch.complex(*tensors(robot, "coriolis", (3,))).conj().imag
    assert q.is_neg()
    assert torch.equal(robot.gravity(q), robot.gravity(q.resolve_neg()))
    with pytest.raises(ValueError, match="out: found a view whose memory has the other sign"):
        robot.gravity(q.resolve_neg(), out=q)
    x = tensors(robot, "gravity", (3,), grad=True)
    (found,), (expected,) = (torch.autograd.grad(robot.gravity(*x), x, c) for c in (q, q.resolve_neg()))
    assert torch.equal(found, expected)


def test_wrenches_by_link_may_be_lists():
    robot = random_arm()
    state = tensors(robot, "inverse_dynamics", (2,))
    wrenches = {"a": [1.0] * 6, "c": [[2] * 6] * 2}
    expected = robot.inverse_dynamics(*(x.numpy() for x in state), wrenches)
    np.testing.assert_array_equal(robot.inverse_dynamics(*state, wrenches).numpy(), expected)


# ---- transforms --------------------------------------------------------------------------------------------


def test_vmap():
    robot = random_arm()
    q, qd, qdd = tensors(robot, "inverse_dynamics", (4,))
    expected = robot.inverse_dynamics(q, qd[0], qdd)
    vmap = torch.func.vmap
    assert torch.equal(vmap(robot.inverse_dynamics, (0, None, 0))(q, qd[0], qdd), expected)
    assert torch.equal(vmap(robot.inverse_dynamics, (1, None, 0))(q.T, qd[0], qdd), expected)
    assert torch.equal(vmap(robot.inverse_dynamics, (1, None, 0), 1)(q.T, qd[0], qdd), expected.T)
    table = vmap(vmap(robot.inverse_dynamics, (None, 0, 0)), (0, None, None))(q, qd, qdd)
    assert torch.equal(table, robot.inverse_dynamics(q[:, None], qd, qdd))
    ragged = vmap(robot.inverse_dynamics)(q, qd[:, None].expand(4, 2, 3), qdd)  # ranks differ inside
    assert torch.equal(ragged, robot.inverse_dynamics(q[:, None], qd[:, None], qdd[:, None]).expand(4, 2, 3))
    for x, y in zip(
        vmap(robot.inverse_dynamics_derivatives)(q, qd, qdd),
        robot.inverse_dynamics_derivatives(q, qd, qdd),
        strict=True,
    ):
        assert torch.equal(x, y)


def test_vmap_of_gradients():
    robot = random_arm()
    (q,) = tensors(robot, "gravity", (4,))
    assert_close(torch.func.vmap(torch.func.grad(robot.potential_energy))(q), robot.gravity(q), 1e-10)


@pytest.mark.filterwarnings("ignore")  # those checks warn of themselves
def test_the_operator_passes_pytorchs_own_checks():
    from armdyn.kernels.torch import handle_of

    robot = random_arm()
    handle = handle_of(robot._kernels["coriolis"])
    torch.library.opcheck(
        torch.ops.armdyn.kernel.default, (handle, tensors(robot, "coriolis", (2,), grad=True))
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyTorch's compiler warns of itself
@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
def test_compiled_in_one_graph(compiler):
    """No kernel is there before; numbers and gradients are those of eager calls."""
    torch._dynamo.reset()
    robot, other = random_arm(11), random_arm(11)
    given = tensors(robot, "forward_dynamics", (2,), optional=WRENCH_AND_PARAMETERS, grad=True)

    def loss(robot, *x):
        qdd = called(robot, "forward_dynamics", *x)
        return (qdd * robot.inertia(x[0].sin()).sum(-1)).sum()

    compiled = torch.compile(lambda *x: loss(robot, *x), fullgraph=True, backend=compiler)
    for _ in range(2):
        found, expected = compiled(*given), loss(other, *given)
        assert_close(found, expected)
        pairs = zip(torch.autograd.grad(found, given), torch.autograd.grad(expected, given), strict=True)
        for x, y in pairs:
            assert_close(x, y)
    with torch.no_grad():
        assert_close(compiled(*given), loss(other, *given))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_with_links_and_loops_and_several_outputs():
    """Frames and wrenches by link are called once before."""
    torch._dynamo.reset()
    robot, closed = random_arm(), four_bar()
    (q,) = tensors(robot, "gravity", (2,))
    (x,) = tensors(closed, "gravity", (2,), grad=True)
    w = torch.ones(6, dtype=torch.float64)

    def check(function, *inputs):
        expected = function(*inputs)
        found = torch.compile(function, fullgraph=True, backend="aot_eager")(*inputs)
        for y, z in zip(as_tuple(found), as_tuple(expected), strict=True):
            assert_close(y, z)

    check(lambda q: robot.pose(q, "b"), q)
    check(lambda q, w: robot.inverse_dynamics(q, q, q, {"b": w}), q, w)
    check(closed.joint_positions, x)
    check(lambda q: robot.inverse_dynamics(q, q, q, base=BaseMotion(linear_acceleration=q)), q)
    check(lambda q: robot.inverse_dynamics_derivatives(q, q, q), q)
    check(torch.func.vmap(robot.gravity), q)
    check(closed.gravity, x)


# ---- threads, processes, lifetimes -------------------------------------------------------------------------


def test_threads_differentiate_at_once():
    robot = random_arm(13)
    given = tensors(robot, "inverse_dynamics", (64,))
    expected = [x.sum(-2) for x in robot.inverse_dynamics_derivatives(*given)]
    found = {}

    def work(k):
        mine = [x.clone().requires_grad_() for x in given]
        found[k] = torch.autograd.grad(robot.inverse_dynamics(*mine).sum(), mine)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(6):
        for x, y in zip(found[k], expected, strict=True):
            assert_close(x, y)


class Torques(torch.utils.data.Dataset):
    """Torques and their gradient, computed by a worker."""

    def __init__(self, robot, q):
        self.robot, self.q = robot, q

    def __len__(self):
        return len(self.q)

    def __getitem__(self, k):
        q = self.q[k].clone().requires_grad_()
        tau = self.robot.gravity(q)
        return tau.detach(), torch.autograd.grad(tau.sum(), q)[0]


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch cannot fork once it has used a GPU")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_of_a_data_loader():
    robot = Robot.load("rp")
    (q,) = tensors(robot, "gravity", (6,))
    data = Torques(robot, q)
    expected = [torch.stack(x) for x in zip(*(data[k] for k in range(6)), strict=True)]
    assert torch.equal(pickle.loads(pickle.dumps(robot)).gravity(q), expected[0])
    for workers in (0, 2):
        batches = list(torch.utils.data.DataLoader(data, batch_size=3, num_workers=workers))
        for x, y in zip(expected, (torch.cat(part) for part in zip(*batches, strict=True)), strict=True):
            assert torch.equal(x, y)


def test_what_stands_for_a_gradient_leads_to_it_in_another_process():
    """PyTorch's caches on disk name gradients that a new process has not made."""
    from armdyn.kernels import torch
    from armdyn.kernels.torch import adjoint_of, tangent_of

    robot = Robot.load("rp")
    gradient = adjoint_of(robot._kernels["gravity"], ["q"])
    for kernel in (gradient, tangent_of(gradient, ["q"])):
        handle = torch.handle_of(kernel)
        torch._kernels.pop(handle)
        assert torch.kernel_of(handle).specification.identity == kernel.specification.identity


def test_gradients_outlive_a_robot_and_nothing_else_does():
    robot = random_arm(17)
    kernel = weakref.ref(robot._kernels["gravity"])
    q = tensors(robot, "gravity", grad=True)[0]
    expected = torch.func.jacrev(robot.gravity)(q.detach()).sum(0)
    tau = robot.gravity(q)
    del robot
    gc.collect()
    assert kernel() is not None
    tau.sum().backward()
    assert_close(q.grad, expected)
    del tau
    gc.collect()
    assert kernel() is None


def test_equal_kernels_share_what_stands_for_them():
    """What torch.compile made for one robot works on when an equal robot, seen before, is gone."""
    from armdyn.kernels.torch import handle_of, kernel_of

    first, second = random_arm(19), random_arm(19)
    handle = handle_of(first._kernels["gravity"])
    assert handle_of(second._kernels["gravity"]) == handle
    stands = weakref.ref(kernel_of(handle))
    assert stands() is first._kernels["gravity"]
    del first
    gc.collect()
    assert kernel_of(handle) is stands()
    del second
    gc.collect()  # the second, which kept the first
    gc.collect()
    with pytest.raises(ValueError, match="the robot of a compiled function is gone"):
        kernel_of(handle)


# ---- errors ------------------------------------------------------------------------------------------------


def wrong_calls():
    robot = Robot.load("rp")
    q = torch.zeros(3, 2, dtype=torch.float64)
    x = q.clone().requires_grad_()
    numbers = np.zeros((3, 2))
    return {
        "whole": (
            lambda: robot.gravity(q.int()),
            TypeError,
            "q: expected a tensor of float64 or float32, fo",
        ),
        "half": (lambda: robot.gravity(q.half()), TypeError, "found one of torch.float16"),
        "complex": (lambda: robot.gravity(q + 0j), TypeError, "found one of torch.complex128"),
        "sparse": (lambda: robot.gravity(q.to_sparse()), TypeError, "q: expected a dense tensor, found"),
        "nested": (
            lambda: robot.gravity(torch.nested.as_nested_tensor([q, q[:2]], layout=torch.jagged)),
            TypeError,
            "q: expected a dense tensor, found a nested one",
        ),
        "numpy": (
            lambda: robot.coriolis(q, numbers),
            TypeError,
            "qd: expected a tensor.*found a NumPy array",
        ),
        "first": (lambda: robot.coriolis(numbers, q), TypeError, "q: expected a tensor.*found a NumPy array"),
        "text": (lambda: robot.coriolis(q, "q"), TypeError, "qd: expected a tensor.*an object of type str"),
        "dtype": (lambda: robot.gravity(q.dtype), TypeError, "q: expected a tensor.*an object of type dtype"),
        "list": (
            lambda: robot.coriolis(q, [q[0], q[1]]),
            TypeError,
            "qd: expected numbers.*torch.Tensor in a list; NumPy",
        ),
        "meta": (lambda: robot.gravity(q.to("meta")), ValueError, "the CPU or a CUDA device, found meta"),
        "devices": (lambda: robot.coriolis(q, q.to("meta")), ValueError, "tensors on cpu and, qd, on meta"),
        "size": (lambda: robot.gravity(q[:, :1]), ValueError, r"q: expected \(\.\.\., 2\), found \(3, 1\)"),
        "size, grad": (
            lambda: robot.gravity(x[:, :1]),
            ValueError,
            r"q: expected \(\.\.\., 2\), found \(3, 1",
        ),
        "shapes": (lambda: robot.coriolis(q[:2], q), ValueError, "shapes do not fit together"),
        "shapes, grad": (lambda: robot.coriolis(x[:2], x), ValueError, "shapes do not fit together"),
        "out, grad": (lambda: robot.gravity(x, out=q), ValueError, "out: a result that gradients go through"),
        "out": (lambda: robot.gravity(q, out=x), ValueError, "out: found a tensor that requires gradients"),
        "out numpy": (lambda: robot.gravity(q, out=numbers), TypeError, "out: expected a tensor, as inputs"),
        "out shape": (lambda: robot.gravity(q, out=q[:2]), ValueError, r"out: expected \(3, 2\), found"),
        "wrenches": (
            lambda: robot.gravity(q) + robot.inverse_dynamics(q, q, q, {robot.model.tip: q}),
            ValueError,
            r"wrench\['.*'\]: expected \(\.\.\., 6\), found \(3, 2\)",
        ),
    }


@pytest.mark.parametrize("name", wrong_calls())
def test_errors(name):
    call, kind, message = wrong_calls()[name]
    with pytest.raises(kind, match=message):
        call()


# ---- GPU ---------------------------------------------------------------------------------------------------


@pytest.fixture
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("no GPU: tensors on one were not tested")
    pytest.importorskip("cupy", reason="CuPy is not installed: tensors on a GPU were not tested")
    return torch.device("cuda", torch.cuda.current_device())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_on_a_gpu(gpu, dtype):
    robot = random_arm()
    here = [
        x.detach().to(dtype).requires_grad_()
        for x in tensors(robot, "forward_dynamics", (50,), optional=WRENCH_AND_PARAMETERS)
    ]
    there = [x.detach().to(gpu).requires_grad_() for x in here]
    tolerance = 1e-12 if dtype == torch.float64 else 2e-4
    expected, found = (called(robot, "forward_dynamics", *x) for x in (here, there))
    assert found.device == gpu
    assert found.dtype == dtype
    assert_close(found.cpu(), expected, tolerance)
    pairs = zip(
        torch.autograd.grad(found.sum(), there), torch.autograd.grad(expected.sum(), here), strict=True
    )
    for x, y in pairs:
        assert_close(x.cpu(), y, 10 * tolerance)


def test_on_a_stream_of_a_gpu(gpu):
    """What comes before and after on a stream of PyTorch's is not overtaken."""
    robot = random_arm()
    q = tensors(robot, "gravity", (100_000,))[0].to(gpu)
    expected = robot.gravity(q + 1)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        later = q
        for _ in range(100):
            later = later + 0.01
        found = robot.gravity(later) * 1.0
    torch.cuda.current_stream().wait_stream(stream)
    assert_close(found.cpu(), expected.cpu(), 1e-9)


def test_out_on_a_gpu(gpu):
    robot = random_arm()
    q = tensors(robot, "gravity", (7,))[0].to(gpu)
    out = torch.zeros(7, 3, dtype=torch.float64, device=gpu)
    assert robot.gravity(q, out=out) is out
    assert_close(out, robot.gravity(q))
    with pytest.raises(ValueError, match="tensors on"):
        robot.coriolis(q, q.cpu())
