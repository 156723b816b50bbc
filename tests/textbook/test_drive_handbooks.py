"""Limits of drives against makers' handbooks: life of strain wave gears, intermittent duty, torque and speed.

Sources, as they could be read when this was written:

- Harmonic Drive LLC, "Cup Type Component Sets & Housed Units, CSF & CSG Series", *Technical Terms*, p. 14:
  equation 8, L_h = L_n (T_r/T_av)³ (N_r/N_av) with L_10 = 7000 h for CSF and 10 000 h for CSG. The numbers of
  the *Selection Example* of that catalogue (p. 15 or 16, by edition) are typed in from notes; its pages were
  not at hand, but each of its results follows from those before it.
- Honpine, "How to Select Harmonic Reduction Gear?" (honpine.com, 29 April 2026): a load of four parts with
  its average torque, 89 N m.
- Kollmorgen, "EB-10X Installation & Service Manual" (October 2020), section 3.6 *Intermittent Duty
  Operation*, p. 33: the torque allowed for a part of each period, by the thermal time constant. It prints the
  formula and no numbers: those here are a computation of our own.
- maxon, "Key information on DC and EC motors" (catalogue, May 2009, p. 36): U = R I + n/k_n, M = k_M I. The
  motor's data are those of maxon's RE 40, 24 V (148867), also from notes.
"""

import numpy as np
import pytest

from armdyn.studies.drive_limits import (
    continuous_torque,
    life_hours,
    mean_torque,
    rms,
    thermal_torque,
    torque_at_voltage,
    voltage,
)

RPM = np.pi / 30


def by_steps(torques, times, speeds):
    """Average torque, output speed [rpm] of a load that is constant in parts, pauses included."""
    T, t, n = (np.array(x, float) for x in (torques, times, speeds))
    return float(mean_torque(T, n * RPM, t, np.array(3.0))), float((n * t).sum() / t.sum())


def test_average_torque_and_life_of_the_selection_example_of_harmonic_drive():
    torque, output = by_steps([400, 320, 200, 0], [0.3, 3, 0.4, 0.2], [7, 14, 7, 0])
    assert torque == pytest.approx(319, abs=1)  # N m
    assert output == pytest.approx(12, abs=0.05)  # rpm
    # A gear of ratio 120, rated 294 N m at 2000 rpm, whose L10 is 7000 h.
    data = (np.array(x) for x in (7000.0, 294.0, 2000 * RPM, 319.0, 120 * 12 * RPM, 3.0))
    assert life_hours(*data) == pytest.approx(7610, abs=5)  # h


def test_average_torque_of_the_example_of_honpine():
    torque, _ = by_steps([150, 82, 130, 0], [0.2, 3, 0.3, 0.2], [10, 20, 10, 0])
    assert torque == pytest.approx(89, abs=0.5)


def test_life_is_the_rated_one_at_rated_torque_and_speed_and_eight_times_at_half_the_torque():
    def life(torque, speed, exponent=3.0):
        data = (7000.0, 294.0, 2000 * RPM, torque, speed, exponent)
        return float(life_hours(*(np.array(x) for x in data)))

    assert life(294, 2000 * RPM) == pytest.approx(7000)
    assert life(147, 2000 * RPM) == pytest.approx(8 * 7000)
    assert life(294, 1000 * RPM) == pytest.approx(2 * 7000)
    assert life(147, 2000 * RPM, 10 / 3) == pytest.approx(2 ** (10 / 3) * 7000)
    assert life(0, 2000 * RPM) == life(294, 0) == np.inf


# ---- intermittent duty -------------------------------------------------------------------------------------


def on_and_off(on, period, torque, n=4000):
    """Samples of a torque for a part of each period; the step is between two equal instants."""
    t = np.concatenate([np.linspace(0, on, n), np.linspace(on, period, n)])
    return t, np.concatenate([np.full(n, torque), np.zeros(n)])


@pytest.mark.parametrize("on", [0.05, 1.0, 20.0, 60.0])
@pytest.mark.parametrize("duty", [0.1, 0.25, 0.6])
def test_the_torque_for_intermittent_duty_of_kollmorgen_is_at_the_thermal_limit(on, duty):
    """T_out/T_c = √((1 − e^(−t_on/(duty τ)))/(1 − e^(−t_on/τ)))."""
    tau, continuous = 30.0, 2.0
    allowed = continuous * np.sqrt(-np.expm1(-on / (duty * tau)) / -np.expm1(-on / tau))
    t, torque = on_and_off(on, on / duty, allowed)
    found = thermal_torque(torque, t, np.array(tau))
    assert found == pytest.approx(continuous, rel=1e-9)


def test_intermittent_duty_by_hand():
    """10 s at 3 N m of every 30 s, τ = 20 s: ϑ = 9 (1 − e^(−1/2))/(1 − e^(−3/2)) = 4.55827 (N m)²."""
    t, torque = on_and_off(10.0, 30.0, 3.0)
    assert thermal_torque(torque, t, np.array(20.0)) == pytest.approx(np.sqrt(4.55827), rel=1e-5)


def test_long_time_constants_give_the_rms_and_short_ones_the_peak():
    t = np.linspace(0, 2, 4001)
    torque = 3 * np.sin(np.pi * t) + np.cos(5 * np.pi * t)
    weight = np.gradient(t)
    assert thermal_torque(torque, t, np.array(1e7)) == pytest.approx(rms(torque, weight), rel=1e-3)
    assert thermal_torque(torque, t, np.array(1e-3)) == pytest.approx(np.abs(torque).max(), rel=1e-2)
    several = thermal_torque(np.stack([torque] * 3), t, np.array([1e7, 1.0, 1e-3]))
    assert (np.diff(several) > 0).all()


def test_the_two_ways_to_the_warmest_instant_agree():
    """The closed form of long time constants, and steps from period to period, at the border of both."""
    rng = np.random.default_rng(0)
    t = np.sort(np.append(rng.uniform(0, 5, 200), [0, 5]))
    torque = rng.normal(size=len(t))
    closed, steps = (thermal_torque(torque, t, np.array(tau)) for tau in (0.1 * 1.0001, 0.1 * 0.9999))
    assert closed == pytest.approx(steps, rel=1e-3)


# ---- torque and speed --------------------------------------------------------------------------------------


def test_the_straight_line_of_torque_and_speed_of_a_motor():
    """maxon RE 40: 0.299 Ω, 30.2 mN m/A, 317 rpm/V: 2420 mN m at standstill, 7580 rpm without load."""
    R, k_t, k_e = 0.299, 0.0302, 1 / (317 * RPM)
    assert torque_at_voltage(24, np.array(0.0), R, k_t, k_e, np.inf) == pytest.approx(2.42, rel=0.005)
    without_load = 24 / k_e - 0.137 * R / k_e  # 137 mA are lost to friction
    assert without_load / RPM == pytest.approx(7580, rel=0.005)
    slope = R / (k_t * k_e) / RPM / 1000  # rpm for each mN m
    assert slope == pytest.approx(3.14, rel=0.01)
    numbers = (np.array(x) for x in (2.42, 0.0, R, k_t, k_e))
    assert voltage(*numbers) == pytest.approx(24, rel=0.005)


def test_voltage_and_torque_at_voltage_are_inverse():
    speed = np.linspace(-300, 300, 13)
    torque = torque_at_voltage(48, speed, 0.7, 0.12, 0.1, np.inf)
    for T, w in zip(torque, speed, strict=True):
        assert np.isclose(voltage(T, w, 0.7, 0.12, 0.1), 48)
    assert torque_at_voltage(48, np.array(500.0), 0.7, 0.12, 0.1, 3.0) < 0  # beyond the speed of no load
    assert torque_at_voltage(48, np.array(0.0), 0.0, 0.12, 0.1, 3.0) == 3.0


def test_continuous_torque_falls_with_speed_through_the_rated_point():
    numbers = (np.array(x, float) for x in (5.0, 4.0, 300.0, [0, 150, 300]))
    assert np.allclose(continuous_torque(*numbers), [5, 4.5, 4])
    numbers = (np.array(x, float) for x in (5.0, 5.0, 0.0, [0, 150]))
    assert np.allclose(continuous_torque(*numbers), 5)
