"""Robots that differ only in numbers share machine code, with the results they would have had without."""

import copy
import gc
import pickle
import threading
import warnings
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import BaseMotion, PhysicsWarning, Robot, backend, bundled_robots
from armdyn.description import bundled_table
from armdyn.kernels.llvm import compiled as compiled_module
from armdyn.kernels.llvm import machine
from armdyn.robot.functions import FUNCTIONS
from arms import in_suites, plans, table_of
from kernel_tools import arguments, as_tuple, error, over


@pytest.fixture
def compiled_programs(monkeypatch):
    """What is compiled: a list of the lengths of programs."""
    found, compile_ir = [], machine.compile_ir

    def counted(ir, *options):
        found.append(len(ir))
        return compile_ir(ir, *options)

    monkeypatch.setattr(machine, "compile_ir", counted)
    return found


def is_shared(robot, key):
    return robot._kernels[key].on("compiled")._numbers is not None


def scaled(robot, factor=1.1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return robot.with_parameters(robot.parameters * factor)


def longer(name, factor):
    """A bundled robot with other lengths."""
    table = copy.deepcopy(dict(bundled_table(name)))
    for link in table["link"]:
        for key in ("a", "d"):
            if isinstance(link.get(key), float) and link[key]:
                link[key] *= factor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return Robot.from_dict(table)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_second_of_a_structure_is_shared_and_gives_the_same(function):
    """The first has its numbers as constants; so has, in a new process, the second."""
    robot = Robot.load("scara")
    variant = scaled(robot)
    cases = [arguments(robot, function, rows) for rows in ((), (1,), (9,), (3, 7), (0,))]
    alone = [as_tuple(getattr(variant, function)(*inputs)) for inputs in cases]
    assert not is_shared(variant, function)
    compiled_module._first.clear()
    getattr(robot, function)(*cases[0])
    again = scaled(robot)
    for inputs, results in zip(cases, alone, strict=True):
        found = as_tuple(getattr(again, function)(*inputs))
        for x, y in zip(found, results, strict=True):
            assert type(x) is type(y)
            assert error(x, y) <= 1e-13
    independent = FUNCTIONS[function].optional == ()  # of the parameters: one kernel serves both
    assert is_shared(again, function) is not independent


@over(plans((1, 4)), st.integers(0, 10**6), examples=3)
def test_random_arms(plan, seed):
    """Also prismatic joints, motors on any carrier, coupled motors, friction, any link as the tip."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        robot = Robot.from_dict(table_of(plan))
        table = table_of(plan)
        for link in table["link"]:
            link["origin"]["xyz"] = [x * Fraction(10371, 10000) for x in link["origin"]["xyz"]]
            link["mass"] = link["mass"] * Fraction(10937, 10000)
        other = Robot.from_dict(table)
    compiled_module._first.clear()
    for function in ("inverse_dynamics", "forward_dynamics", "jacobian", "regressor"):
        inputs = arguments(robot, function, (9,), seed)
        getattr(robot, function)(*inputs)
        found = getattr(other, function)(*inputs)
        with backend("evaluator"):
            assert error(found, getattr(other, function)(*inputs)) <= 1e-10
        np.testing.assert_allclose(
            getattr(other, function)(*(x[0] for x in inputs)), found[0], rtol=1e-12, atol=1e-12
        )
    forms = [arm._kernels["inverse_dynamics"].specification.shared.specification for arm in (robot, other)]
    assert is_shared(other, "inverse_dynamics") is (forms[0].identity == forms[1].identity)


@pytest.mark.parametrize("name", in_suites(bundled_robots(), ("rp", "palletizer", "four_bar")))
def test_a_payload_and_other_lengths(name):
    robot = Robot.load(name)
    inputs = arguments(robot, "inverse_dynamics", (9,))
    robot.inverse_dynamics(*inputs)
    for other in (robot.with_payload(1.5, [0.1, 0.2, 0.3]), longer(name, 1.25), scaled(robot)):
        found = other.inverse_dynamics(*inputs)
        with backend("evaluator"):
            assert error(found, other.inverse_dynamics(*inputs)) <= 1e-12


def test_one_compilation_serves_all_variants(fresh_cache, monkeypatch, compiled_programs):
    monkeypatch.setattr(machine, "_loaded", {})
    robot = Robot.load("planar3")
    inputs = arguments(robot, "inverse_dynamics")
    for k in range(20):
        robot.with_payload(k / 10, [0.1 * k, 0.2, 0]).inverse_dynamics(*inputs)
    assert len(compiled_programs) <= 3  # without payload, with one, and the shared form
    before = len(compiled_programs)
    monkeypatch.setattr(machine, "_loaded", {})
    compiled_module._first.clear()
    robot.with_payload(1, [0.1, 0.2, 0]).inverse_dynamics(*inputs)
    robot.with_payload(2, [0.1, 0.3, 0]).inverse_dynamics(*inputs)
    assert len(compiled_programs) - before <= 1  # the shared form came from the disk


def test_the_same_robot_again_is_not_a_variant():
    first, again = Robot.load("planar"), pickle.loads(pickle.dumps(Robot.load("planar")))
    q = np.array([0.3, -0.7])
    np.testing.assert_array_equal(first.gravity(q), again.gravity(q))
    assert not is_shared(again, "gravity")


def test_another_structure_is_not_shared():
    robot = Robot.load("planar")
    q = np.array([0.3, -0.7])
    robot.gravity(q)
    floating = robot.with_gravity([0, 0, 0])
    np.testing.assert_array_equal(floating.gravity(q), [0, 0])
    assert not is_shared(floating, "gravity")


def test_single_precision_and_out():
    robot = Robot.load("scara")
    inputs = arguments(robot, "inverse_dynamics", (9,))
    robot.inverse_dynamics(*inputs)
    variant = scaled(robot)
    expected = variant.inverse_dynamics(*inputs)
    narrow = variant.inverse_dynamics(*(x.astype(np.float32) for x in inputs))
    assert narrow.dtype == np.float32
    assert error(narrow, expected) <= 1e-5
    out = np.empty_like(expected)
    assert variant.inverse_dynamics(*inputs, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_large_batches_and_broadcasting():
    robot = Robot.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", (40_000,))
    robot.inverse_dynamics(q, qd, qdd)
    variant = scaled(robot)
    many = variant.inverse_dynamics(q, qd[0], qdd[0])
    assert is_shared(variant, "inverse_dynamics")
    for k in (0, 7, 8, 20_001, 39_999):
        assert error(many[k], variant.inverse_dynamics(q[k], qd[0], qdd[0])) <= 1e-13


def test_optional_inputs_and_links():
    robot = Robot.load("puma560")
    q, qd, qdd, wrench = arguments(robot, "inverse_dynamics", (9,), optional=["wrench"])
    base = BaseMotion((0.1, 0.2, 0.3), (1, -1, 2), (0.5, 0.1, -0.2))
    variant, further = longer("puma560", 1.25), longer("puma560", 0.75)
    for arm in (robot, variant, further):
        found = [
            arm.inverse_dynamics(q, qd, qdd, wrench, base=base),
            arm.inverse_dynamics(q, qd, qdd, parameters=robot.parameters),
            *(arm.pose(q, link=link.name) for link in arm.model.links[1:3]),
        ]
        with backend("evaluator"):
            expected = [
                arm.inverse_dynamics(q, qd, qdd, wrench, base=base),
                arm.inverse_dynamics(q, qd, qdd, parameters=robot.parameters),
                *(arm.pose(q, link=link.name) for link in arm.model.links[1:3]),
            ]
        for x, y in zip(found, expected, strict=True):
            assert error(x, y) <= 1e-12


def test_a_robot_with_other_parameters_uses_the_same_code_for_given_ones(fresh_cache):
    robot = Robot.load("planar")
    q = np.array([0.3, -0.7])
    expected = robot.gravity(q, parameters=robot.parameters)
    variant = scaled(robot)
    np.testing.assert_array_equal(variant.gravity(q, parameters=robot.parameters), expected)
    assert len(list(fresh_cache.iterdir())) == 1


def test_variants_leave_nothing_behind():
    robot = Robot.load("planar")
    q = np.array([0.3, -0.7])
    robot.gravity(q)
    scaled(robot).gravity(q)
    sizes = len(machine._loaded), len(compiled_module._first)
    watched = []
    for k in range(50):
        variant = scaled(robot, 1 + k / 100)
        variant.gravity(q)
        watched.append(weakref.ref(variant._kernels["gravity"]))
    del variant
    gc.collect()
    assert not any(kernel() for kernel in watched)
    assert sizes == (len(machine._loaded), len(compiled_module._first))


def test_many_threads_at_once(fresh_cache, monkeypatch, compiled_programs):
    monkeypatch.setattr(machine, "_loaded", {})
    robot = Robot.load("rp")
    q = np.array([0.3, 0.7])
    variants = [scaled(robot, 1 + k / 10) for k in range(1, 9)]
    with backend("evaluator"):
        expected = [variant.gravity(q) for variant in variants]
    found, start = {}, threading.Barrier(len(variants))

    def work(k):
        start.wait()
        found[k] = variants[k].gravity(q)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(variants))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled_programs) == 2
    for k, tau in enumerate(expected):
        assert error(found[k], tau) <= 1e-13


def test_the_shared_form_of_the_panda_takes_hardly_more_operations():
    specification = Robot.load("panda")._kernels["inverse_dynamics"].specification
    assert specification.shared.specification.program.operations <= 1.01 * specification.program.operations


def test_a_robot_without_numbers_is_refused_as_before():
    robot = Robot.load("planar").with_payload("load")
    with pytest.raises(ValueError, match="has no value"):
        robot.gravity(np.zeros(2))
