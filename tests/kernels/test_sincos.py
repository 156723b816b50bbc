"""Sine and cosine of the kernels: 2 ulp up to 1e5, libm beyond, NaN and infinity.

The reference is python-flint's ball arithmetic at 160 bits, as the sum of two doubles.
"""

import math
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest

from armdyn.kernels.llvm import compiled as compiled_module
from kernel_tools import kernel_of

LIMIT = 1e5
QUARTERS = int(LIMIT / (math.pi / 2))  # multiples of π/2 below the limit
FLOAT32_STEP = 2.0**-24  # between single-precision numbers below one; next to a zero the error is absolute


def sine_cosine(widths=None):
    return kernel_of(lambda x: [x[0].sin(), x[0].cos()], [1], [(2,)], f"sine cosine {widths}")


@pytest.fixture(scope="module")
def both():
    return sine_cosine()


def reference(x):
    """sin and cos of doubles, each as high + low."""
    high, low = np.empty((len(x), 2)), np.empty((len(x), 2))
    precision, flint.ctx.prec = flint.ctx.prec, 160
    try:
        for i, value in enumerate(x.tolist()):
            ball = flint.arb(value)
            for k, exact in enumerate((ball.sin(), ball.cos())):
                high[i, k] = float(exact.mid())
                low[i, k] = float((exact - high[i, k]).mid())
    finally:
        flint.ctx.prec = precision
    return high, low


def ulps(found, x):
    """The error of (n, 2) results in units of the last place of the exact ones."""
    high, low = reference(np.asarray(x, float))
    return np.abs((found - high) - low) / np.spacing(np.abs(high).astype(found.dtype)).astype(float)


def absolute(found, x):
    high, low = reference(np.asarray(x, float))
    return np.abs((found.astype(float) - high) - low)


def near_quarters(count, seed=0):
    """The doubles next to k π/2, and a few places on."""
    rng = np.random.default_rng(seed)
    k = np.unique(np.concatenate([np.arange(200), rng.integers(0, QUARTERS, count)]))
    precision, flint.ctx.prec = flint.ctx.prec, 160
    half = flint.arb.pi() / 2
    x = np.array([float((half * int(i)).mid()) for i in k])
    flint.ctx.prec = precision
    about = [x, np.nextafter(x, 0), np.nextafter(x, np.inf), x + rng.uniform(-1e-8, 1e-8, len(x))]
    return np.concatenate([*about, *(-y for y in about)])


def samples(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [
            rng.uniform(-10, 10, count),
            rng.uniform(-LIMIT, LIMIT, count),
            rng.choice([-1, 1], count) * 10 ** rng.uniform(-12, 5, count),
            [LIMIT, -LIMIT, np.pi / 4, np.nextafter(np.pi / 4, 1), 1.0, 0.5],
        ]
    )


def test_the_reference_is_right():
    x = np.array([0.3, -99999.5, 1e-300])
    high, low = reference(x)
    with mpmath.workdps(50):
        for i, value in enumerate(x.tolist()):
            exact = mpmath.sin(mpmath.mpf(value))
            assert (
                abs(mpmath.mpf(float(high[i, 0])) + mpmath.mpf(float(low[i, 0])) - exact)
                <= abs(exact) * 2**-100
            )


@pytest.mark.parametrize("count", [2000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_two_ulp(both, count):
    x = samples(count)
    assert ulps(both(x[:, None]), x).max() <= 2


@pytest.mark.parametrize("count", [1500, pytest.param(4 * QUARTERS, marks=pytest.mark.slow)])
def test_two_ulp_next_to_multiples_of_a_quarter_turn(both, count):
    x = near_quarters(count)
    assert np.abs(x).max() <= LIMIT
    assert ulps(both(x[:, None]), x).max() <= 2


def test_two_ulp_one_number_at_a_time(both):
    """The scalar code: single calls, and what is left over of a batch."""
    x = np.concatenate([samples(150, 3), near_quarters(60, 3)])
    single = np.array([both(np.array([value])) for value in x])
    assert ulps(single, x).max() <= 2
    tail = np.array([both(np.array([[value]]))[0] for value in x])
    np.testing.assert_array_equal(single, tail)


@pytest.mark.parametrize("count", [2, 3, 8, 9, 17, 30])
def test_several_angles_of_one_row_and_one_angle_of_many(both, count):
    """The scalar code finds the sines of several angles in one register."""
    kernel = kernel_of(
        lambda x: [[y.sin(), y.cos()] for y in x], [count], [(count, 2)], f"sines of {count} angles"
    )
    rng = np.random.default_rng(count)
    special = [np.nan, np.inf, -0.0, 1e300, 123456.7, LIMIT, 5e-324]
    for x in (rng.uniform(-9, 9, count), rng.choice(special, count), samples(count, 5)[:count]):
        np.testing.assert_array_equal(kernel(x), both(x[:, None]))


def test_sines_of_sums_and_of_sines(both):
    """Angles that are sums are found first; those that wait for another sine are found after it."""

    def function(x):
        first = [(a + b).sin() for a, b in pairwise(x)]
        return [*first, *((y * 3 + a).cos() for y, a in zip(first, x, strict=False))]

    kernel = kernel_of(function, [6], [(10,)], "sines of sines")
    x = np.random.default_rng(2).uniform(-3, 3, 6)
    first = np.sin(x[:-1] + x[1:])
    np.testing.assert_allclose(kernel(x), [*first, *np.cos(3 * first + x[:-1])], rtol=0, atol=1e-15)
    np.testing.assert_allclose(kernel(x), kernel(x[None])[0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("register", [16, 32, 64])
def test_every_register_width(register, monkeypatch, fresh_cache):
    monkeypatch.setattr(compiled_module, "vector_bytes", lambda: register)
    x = np.concatenate([samples(300, 4), near_quarters(100, 4)])
    assert ulps(sine_cosine(register)(x[:, None]), x).max() <= 2
    narrow = x.astype(np.float32)
    assert absolute(sine_cosine(register)(narrow[:, None]), narrow).max() <= FLOAT32_STEP


def test_tiny_numbers(both):
    x = np.array([5e-324, 1e-310, 2.3e-308, 1e-200, 1e-30, 1e-9, 1e-8, 3e-8, 1e-5] * 2)
    x = np.concatenate([x, -x])
    y = both(x[:, None])
    assert ulps(y, x).max() <= 1
    np.testing.assert_array_equal(y[np.abs(x) < 1e-8, 0], x[np.abs(x) < 1e-8])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zero_keeps_its_sign(both, dtype):
    for zero in (0.0, -0.0):
        for rows in (1, 3, 8, 16, 20):
            y = both(np.full((rows, 1), zero, dtype))
            np.testing.assert_array_equal(y, np.tile([0.0, 1.0], (rows, 1)))
            assert (np.signbit(y[:, 0]) == np.signbit(zero)).all()


def test_beyond_the_range_it_is_libm(both):
    rng = np.random.default_rng(5)
    x = rng.choice([-1, 1], 400) * 10 ** rng.uniform(5.0001, 300, 400)
    x = np.concatenate([x, [np.nextafter(LIMIT, np.inf), 1.7e308, 2.0**1000, 1e22]])
    expected = np.array([[math.sin(value), math.cos(value)] for value in x.tolist()])
    np.testing.assert_array_equal(both(x[:, None]), expected)
    np.testing.assert_array_equal([both(np.array([value])) for value in x], expected)


def test_single_precision(both):
    rng = np.random.default_rng(6)
    x = np.concatenate(
        [
            rng.uniform(-10, 10, 1000),
            rng.uniform(-8000, 8000, 2000),
            10 ** rng.uniform(-30, 3.9, 500),
            np.arange(5000) * np.pi / 2,
        ]
    ).astype(np.float32)
    y = both(x[:, None])
    assert y.dtype == np.float32
    assert absolute(y, x).max() <= FLOAT32_STEP
    large = np.abs(reference(x.astype(float))[0]) > 0.1
    assert ulps(y, x)[large].max() <= 2


def test_single_precision_beyond_the_range(both):
    rng = np.random.default_rng(7)
    x = (10 ** rng.uniform(3.91, 38, 500)).astype(np.float32)
    assert absolute(both(x[:, None]), x).max() <= FLOAT32_STEP


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_infinity_gives_nan(both, dtype):
    with np.errstate(invalid="ignore"):
        for value in (np.inf, -np.inf):
            for rows in (1, 5, 16, 19):
                assert np.isnan(both(np.full((rows, 1), value, dtype))).all()
    assert np.isnan(both(np.array([np.inf]))).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e6, 1e300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_bad_lane_does_not_disturb_the_others(both, bad, dtype):
    good = np.linspace(-3, 3, 24).astype(dtype)[:, None]
    expected = both(good)
    for i in range(24):
        x = good.copy()
        with np.errstate(all="ignore"):
            x[i] = bad
            y = both(x)
        np.testing.assert_allclose(
            np.delete(y, i, 0), np.delete(expected, i, 0), rtol=0, atol=2 * np.finfo(dtype).eps
        )
        if np.isfinite(x[i, 0]):
            assert ulps(y[i : i + 1], x[i]).max() <= 2
        else:
            assert np.isnan(y[i]).all()


def test_sine_and_cosine_alone():
    x = samples(200)
    sine = kernel_of(lambda a: [a[0].sin()], [1], [(1,)], "sine alone")
    cosine = kernel_of(lambda a: [a[0].cos()], [1], [(1,)], "cosine alone")
    y = np.hstack([sine(x[:, None]), cosine(x[:, None])])
    assert ulps(y, x).max() <= 2
