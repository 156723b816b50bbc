"""The compiled integrator: against the steps taken by NumPy, by hand, and against known solutions."""

import numpy as np
import pytest

import armdyn
from armdyn.kernels.loops.integrator import Integrator, Signals
from armdyn.kernels.loops.integrator_layout import Layout, Programs, Watch, Watched
from armdyn.program import record

NOTHING = Signals(np.zeros((1, 0)), np.zeros((1, 1, 0)))


@pytest.fixture(autouse=True)
def _backend():
    yield
    armdyn.set_backend("compiled")


def oscillators(rates=0, constants=0, signal=0):
    """Two coupled oscillators, driven by constants and signals; their powers are rates."""

    def rate(*columns):
        q, qd, *given = columns
        force = [x for column in given for x in column]
        qdd = [-4 * q[0] + q[1].sin(), q[0] - 3 * q[1] - qd[1] / 2]
        for k, f in enumerate(force):
            qdd[k % 2] = qdd[k % 2] + (k + 1) * f
        powers = [qd[0] * qdd[0], qd[1] * qdd[1]][:rates]
        return (qdd, powers) if rates else qdd

    inputs = [("q", 2), ("qd", 2)]
    inputs += [("constants", constants)] if constants else []
    inputs += [("signal", signal)] if signal else []
    outputs = [("qdd", (2,))] + ([("powers", (rates,))] if rates else [])
    return Integrator(Programs(record(rate, inputs, outputs)), Layout(2, 0, rates, constants, signal))


def states(arms, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (arms, 2)), rng.uniform(-1, 1, (arms, 2))


def taken(integrator, q, qd, signals, samples, every, h=0.01, limit=1e4, modes=None):
    state = integrator.start(q, qd, modes)
    saved = np.zeros((samples, len(q), integrator.layout.saved))
    integrator.advance(state, signals, saved, every, h, limit)
    return state, saved


def by_both(integrator, *arguments, **named):
    compiled = taken(integrator, *arguments, **named)
    armdyn.set_backend("evaluator")
    evaluated = taken(integrator, *arguments, **named)
    armdyn.set_backend("compiled")
    return compiled, evaluated


@pytest.mark.parametrize("arms", [1, 2, 7, 8, 9, 19])
@pytest.mark.parametrize(
    ("rates", "constants", "signal"), [(0, 0, 0), (2, 0, 0), (1, 3, 0), (2, 1, 2), (0, 0, 9)]
)
def test_compiled_and_numpy_steps(arms, rates, constants, signal):
    """Registers and leftovers, with any of quadratures, constants and signals."""
    rng = np.random.default_rng(arms)
    for own, halves in ((1, False), (arms, True)):
        instants = (2 if halves else 1) * 12 + 1
        signals = Signals(
            rng.uniform(-1, 1, (own, constants)), rng.uniform(-1, 1, (instants, own, signal)), halves
        )
        (state, saved), (other_state, other_saved) = by_both(
            oscillators(rates, constants, signal), *states(arms), signals, 4, 3
        )
        np.testing.assert_allclose(state, other_state, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(saved, other_saved, rtol=1e-13, atol=1e-14)
        assert np.isfinite(saved).all()
        np.testing.assert_array_equal(state[:, : saved.shape[2]], saved[-1])


def test_steps_and_plain_runge_kutta():
    """One arm, written out."""
    q, qd = states(1)
    h, steps = 0.02, 10
    signal = np.random.default_rng(1).uniform(-1, 1, (steps + 1, 1, 1))

    def f(x, u):
        return np.array([x[2], x[3], -4 * x[0] + np.sin(x[1]) + u, x[0] - 3 * x[1] - x[3] / 2])

    x = np.concatenate([q[0], qd[0]])
    for k in range(steps):
        a, b = signal[k, 0, 0], signal[k + 1, 0, 0]
        k1 = f(x, a)
        k2 = f(x + h / 2 * k1, (a + b) / 2)
        k3 = f(x + h / 2 * k2, (a + b) / 2)
        k4 = f(x + h * k3, b)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    signals = Signals(np.zeros((1, 0)), signal)
    state, _ = taken(oscillators(signal=1), q, qd, signals, 1, steps, h)
    np.testing.assert_allclose(state[0, :4], x, rtol=1e-13, atol=1e-15)


def test_quadratures_and_the_energy_they_add_up_to():
    """∫ q̇ q̈ dt = ½ q̇² at the end less that at the start, to fourth order."""
    q, qd = states(11)
    errors = []
    for h in (0.02, 0.01):
        state, _ = taken(oscillators(rates=2), q, qd, NOTHING, 1, round(1 / h), h)
        errors.append(np.abs(state[:, 4:6] - (state[:, 2:4] ** 2 - qd**2) / 2).max())
    assert errors[1] < 1e-7
    assert 12 < errors[0] / errors[1] < 20


def test_saved_states_and_shorter_calls():
    """Every third state of one call, and the states of calls of three steps."""
    integrator = oscillators(rates=1, signal=1)
    q, qd = states(10)
    signal = np.random.default_rng(3).uniform(-1, 1, (13, 1, 1))
    _, saved = taken(integrator, q, qd, Signals(np.zeros((1, 0)), signal), 4, 3)
    state = integrator.start(q, qd)
    for k in range(4):
        part = np.zeros((1, 10, integrator.layout.saved))
        signals = Signals(np.zeros((1, 0)), signal[3 * k : 3 * k + 4])
        integrator.advance(state, signals, part, 3, 0.01, 1e4)
        np.testing.assert_array_equal(part[0], saved[k])


def test_arms_in_a_batch_and_alone():
    """Bit for bit: a lane of a register computes what the scalar code does."""
    integrator = oscillators(rates=2)
    q, qd = states(21)
    together, _ = taken(integrator, q, qd, NOTHING, 5, 4)
    for k in (0, 7, 15, 16, 20):
        alone, _ = taken(integrator, q[k : k + 1], qd[k : k + 1], NOTHING, 5, 4)
        np.testing.assert_array_equal(alone[0], together[k])


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(threads, monkeypatch):
    monkeypatch.setattr("armdyn.kernels.loops.integrator.MINIMUM_WORK", 1)
    integrator = oscillators(rates=1, constants=1, signal=1)
    q, qd = states(45)
    rng = np.random.default_rng(5)
    signals = Signals(rng.uniform(-1, 1, (45, 1)), rng.uniform(-1, 1, (21, 45, 1)))
    armdyn.set_threads(1)
    one = taken(integrator, q, qd, signals, 2, 10)
    armdyn.set_threads(threads)
    assert len(integrator._edges(45, 20)) == threads + 1
    several = taken(integrator, q, qd, signals, 2, 10)
    np.testing.assert_array_equal(one[0], several[0])
    np.testing.assert_array_equal(one[1], several[1])


def test_an_arm_that_diverges_keeps_its_last_state_and_leaves_the_others_alone():
    """q̈ = 50 q grows beyond the limit for some arms only; NaN from there on."""
    program = record(lambda q, qd: [50 * q[0]], [("q", 1), ("qd", 1)], [("qdd", (1,))])
    integrator = Integrator(Programs(program), Layout(1, 0, 0, 0, 0))
    q = np.where(np.arange(10) % 3 == 0, 1.0, 1e-9)[:, None]
    (state, saved), (other, other_saved) = by_both(integrator, q, 0 * q, NOTHING, 20, 5, limit=100.0)
    np.testing.assert_allclose(state, other, rtol=1e-12)
    np.testing.assert_allclose(saved, other_saved, rtol=1e-12)
    assert (state[:, 2] == (np.arange(10) % 3 != 0)).all()
    assert (state[1::3, 3] == 100).all()
    steps = int(state[0, 3])
    assert np.abs(state[0, 1]) <= 100
    assert np.isfinite(saved[: steps // 5, 0]).all()
    assert np.isnan(saved[steps // 5 + 1 :, 0]).all()
    assert np.isfinite(saved[:, 1]).all()


def test_an_arm_that_is_not_a_number_stops_at_once():
    q = np.array([[0.1, 0.2], [np.nan, 0.0]])
    state, saved = taken(oscillators(), q, 0 * q, NOTHING, 2, 3)
    assert (state[:, 4] == [1, 0]).all()
    assert (state[:, 5] == [6, 0]).all()
    assert np.isfinite(saved[:, 0]).all()
    assert np.isnan(saved[:, 1]).all()


def sticky():
    """A mass with friction ±1 driven by a signal, as modes."""

    def rate(q, qd, modes, signal):
        s = modes[0]
        net = signal[0] - s
        return [net * (s * s)], [net - net * (s * s)]

    def decide(qd, modes, qdd, held, late):
        s, f = modes[0], held[0]
        released = (f - 1).select(1, 0) - (-1 - f).select(1, 0)
        sliding = s * (1 - (-(s * qdd[0])).select(1, 0))
        speed = qd[0].sign()
        wanted = (1 - speed * speed).select((1 - s * s).select(released, sliding), s)
        return [wanted], [(wanted - s) * (wanted - s)]

    def settle(qd, modes):
        passed = -(modes[0] * qd[0])
        return [passed.select(0, qd[0])], [passed.select(0, modes[0])]

    one = [("qd", 1), ("modes", 1)]
    programs = Programs(
        record(rate, [("q", 1), *one, ("signal", 1)], [("qdd", (1,)), ("held", (1,))]),
        record(decide, [*one, ("qdd", 1), ("held", 1), ("late", 1)], [("modes", (1,)), ("changed", (1,))]),
        record(settle, one, [("qd", (1,)), ("modes", (1,))]),
    )
    return Integrator(programs, Layout(1, 1, 0, 0, 1))


@pytest.mark.parametrize("arms", [1, 9])
def test_modes(arms):
    """Below its friction the mass rests exactly; above it moves; when the force goes, it stops and rests."""
    h, steps = 0.01, 300
    t = h * np.arange(steps + 1)
    force = np.where(t < 0.5, 0.9, np.where(t < 1.0, 3.0, 0.0))
    signal = np.repeat(force[:, None, None], arms, axis=1) * np.linspace(1, 0.5, arms)[:, None]
    start, zero = np.zeros((arms, 1)), np.zeros((arms, 1))
    (state, saved), (other, _) = by_both(
        sticky(), start, zero, Signals(np.zeros((1, 0)), signal), steps, 1, h=h, modes=zero
    )
    np.testing.assert_allclose(state, other, atol=1e-13)
    assert (saved[:49, :, :3] == 0).all()
    assert (saved[60:95, :, 2] == 1).all()
    assert (saved[60:95, :, 1] > 0).all()
    assert (state[:, 1:3] == 0).all()
    np.testing.assert_allclose(state[0, 0], 0.5 * 2 * 0.5**2 + 0.5, atol=0.05)  # v = 1, then 1/2 v²


def test_code_from_the_cache(fresh_cache):
    integrator = oscillators(constants=2)
    q, qd = states(3)
    signals = Signals(np.ones((1, 2)), np.zeros((1, 1, 0)))
    first = taken(integrator, q, qd, signals, 1, 5)
    files = list(fresh_cache.iterdir())
    assert len(files) == 1
    again = taken(oscillators(constants=2), q, qd, signals, 1, 5)
    np.testing.assert_array_equal(first[0], again[0])
    assert list(fresh_cache.iterdir()) == files


# ---- joints that are watched -------------------------------------------------------------------------------


def drifting(stops):
    """Two joints at constant speed; the second is watched between −1 and 1."""
    program = record(lambda q, qd: [0 * q[0], 0 * q[0]], [("q", 2), ("qd", 2)], [("qdd", (2,))])
    watch = Watch((Watched(1, -1.0, 1.0),), stops)
    return Integrator(Programs(program), Layout(2, 0, 0, 0, 0, watch))


@pytest.mark.parametrize("arms", [1, 8, 19])
@pytest.mark.parametrize("stops", [False, True])
def test_steps_until_a_joint_leaves_its_range(arms, stops):
    """|q| reaches 1 after 100/|v| steps of 0.01 s; the first joint may go anywhere."""
    speed = np.linspace(-7, 6.9, arms)
    q, qd = np.zeros((arms, 2)), np.stack([np.full(arms, 50.0), speed], -1)
    for state, saved in by_both(drifting(stops), q, qd, NOTHING, 4, 10):
        left = 0.4 * np.abs(speed) > 1
        expected = np.where(left, np.sign(speed) * (1 + 100 / np.abs(speed)), 0)
        np.testing.assert_allclose(state[:, -1], expected, atol=1e-9)
        steps = np.where(left & stops, np.ceil(np.abs(expected) - 1 - 1e-9), 40)
        np.testing.assert_array_equal(state[:, -2], steps)
        np.testing.assert_array_equal(state[:, -3], 1.0 - (left & stops))
        np.testing.assert_allclose(state[:, 1], steps * 0.01 * speed, atol=1e-12)
        np.testing.assert_array_equal(
            np.isfinite(saved[..., 1]).sum(axis=0), np.where(left & stops, (steps - 1) // 10, 4)
        )


def test_joints_that_start_out_of_their_ranges():
    q = np.array([[0, 0.5], [0, 1.5], [0, -1.5]])
    assert drifting(False).start(q, 0 * q)[:, -1].tolist() == [0, 1, -1]
