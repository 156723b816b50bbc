"""Inertia of solids against integrals, and its changes of frame against clouds of points."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import Expression, Inertia, box, cylinder, hollow_cylinder, point_mass, rod, sphere
from armdyn.model import ModelError, steiner
from armdyn.model.inertia import TENSOR_KEYS
from arms import assert_same, cloud, law, rational_rotation
from golden_messages import golden_error

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def number(x):
    return float(x.value()) if isinstance(x, Expression) else float(x)


def parts(body):
    """mass, moment, tensor of an Inertia as numbers."""
    return (
        number(body.mass),
        np.array([number(x) for x in body.moment]),
        np.array([[number(x) for x in row] for row in body.matrix]),
    )


def integral(points, weights):
    """The same of a cloud of weighted points (n, 3)."""
    tensor = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for p, w in zip(points, weights, strict=True))
    return weights.sum(), weights @ points, tensor


def grid(*intervals):
    """Gauss–Legendre points and weights of a product of intervals."""
    axes = [((b - a) / 2 * NODES + (a + b) / 2, (b - a) / 2 * WEIGHTS) for a, b in intervals]
    mesh = np.meshgrid(*(x for x, _ in axes), indexing="ij")
    weight = np.meshgrid(*(w for _, w in axes), indexing="ij")
    return [x.ravel() for x in mesh], np.prod([w.ravel() for w in weight], axis=0)


def box_points(x, y, z):
    (a, b, c), w = grid((-x / 2, x / 2), (-y / 2, y / 2), (-z / 2, z / 2))
    return np.stack([a, b, c], 1), w


def tube_points(inner, outer, length):
    (r, phi, z), w = grid((inner, outer), (-math.pi, math.pi), (-length / 2, length / 2))
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], 1), w * r


def ball_points(radius):
    (r, phi, u), w = grid((0, radius), (-math.pi, math.pi), (-1, 1))
    across = np.sqrt(1 - u * u)
    return np.stack([r * across * np.cos(phi), r * across * np.sin(phi), r * u], 1), w * r * r


def rod_points(length):
    (x,), w = grid((-length / 2, length / 2))
    return np.stack([x, 0 * x, 0 * x], 1), w


@pytest.mark.parametrize(
    ("solid", "points"),
    [
        (box(3, (0.3, 0.5, 0.7)), box_points(0.3, 0.5, 0.7)),
        (cylinder(3, 0.4, 1.1), tube_points(0, 0.4, 1.1)),
        (hollow_cylinder(3, 0.2, 0.4, 1.1), tube_points(0.2, 0.4, 1.1)),
        (sphere(3, 0.6), ball_points(0.6)),
        (rod(3, 1.3), rod_points(1.3)),
    ],
    ids=["box", "cylinder", "hollow cylinder", "sphere", "rod"],
)
def test_a_solid_and_its_integral(solid, points):
    places, weights = points
    for found, expected in zip(parts(solid), integral(places, 3 * weights / weights.sum()), strict=True):
        assert_same(found, expected, 1e-7)  # twelve nodes over a full turn


def test_solids_are_exact_and_may_have_symbols():
    assert box("m", ("a", "b", "c")).tensor[0] == Expression.symbol("m") * (
        Expression.symbol("b") ** 2 / 12 + Expression.symbol("c") ** 2 / 12
    )
    assert sphere(1, "1/2").tensor[0] == Fraction(1, 10)
    assert cylinder(2, 1, 0).tensor[5] == 1


def test_a_point_mass_and_the_theorem_of_steiner():
    body = point_mass(2, (1, 2, 3))
    assert parts(body)[0] == 2
    assert list(body.tensor) == [26, -4, -6, 20, -12, 10]
    assert list(body.tensor) == list(steiner(2, (1, 2, 3)))
    assert all(x == 0 for x in body.tensor_at_com)


def of_cloud(seed):
    """A cloud as an Inertia (exact), and its points."""
    rng = random.Random(seed)
    masses = [Fraction(rng.randint(1, 9), 4) for _ in range(6)]
    places = [tuple(Fraction(rng.randint(-9, 9), 7) for _ in range(3)) for _ in range(6)]
    total = Inertia()
    for m, p in zip(masses, places, strict=True):
        total = total + Inertia.at_com(m, p, (0, 0, 0, 0, 0, 0))
    return total, masses, places


def check_cloud(body, masses, places):
    points, weights = np.array(places, float), np.array(masses, float)
    for found, expected in zip(parts(body), integral(points, weights), strict=True):
        assert_same(found, expected, 1e-13)


@law(st.integers(0, 9999), examples=20)
def test_a_sum_of_points_and_the_cloud(seed):
    check_cloud(*of_cloud(seed))


@law(st.integers(0, 9999), examples=20)
def test_a_placed_body_and_the_placed_cloud(seed):
    body, masses, places = of_cloud(seed)
    rng = random.Random(seed)
    R = rational_rotation(rng)
    p = [Fraction(rng.randint(-9, 9), 5) for _ in range(3)]
    turned = [tuple(sum(R[i][k] * x[k] for k in range(3)) for i in range(3)) for x in places]
    check_cloud(body.rotated(R), masses, turned)
    check_cloud(body.translated(p), masses, [tuple(a + b for a, b in zip(x, p, strict=True)) for x in places])
    moved = [tuple(a + b for a, b in zip(x, p, strict=True)) for x in turned]
    check_cloud(body.placed(R, p), masses, moved)
    back = tuple(zip(*R, strict=True))
    home = body.placed(R, p).translated([-x for x in p]).rotated(back)
    assert home == body


@pytest.mark.parametrize("third", [[0, 0, 2], ["0", 0, -1], np.array([0, 1e-5, 1])], ids=str)
def test_axes_that_are_no_rotation_are_refused(third):
    with golden_error(ModelError):
        box(1, [1, 2, 3]).placed([[1, 0, 0], [0, 1, 0], third], [0, 0, 0])


def test_a_body_by_its_centre_of_mass_takes_texts():
    body = Inertia.at_com("m", ["l/2", 0, 0], [0, 0, 0, "m*l**2/12", 0, "m*l**2/12"])
    assert body == rod("m", "l").translated(["l/2", 0, 0])
    with golden_error(ModelError):
        Inertia.at_com("m", ["l/2", 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_decimals_and_texts_shift_a_body_alike():
    body = box(2, [0.3, 0.2, 0.1])
    assert body.translated([0.15, 0.1, 0.05]) == body.translated(["0.15", "0.1", "0.05"])


def test_a_rotation_in_six_digits_is_one():
    R = [[0.921061, -0.389418, 0], [0.389418, 0.921061, 0], [0, 0, 1]]
    turned = box(1, [1, 2, 3]).rotated(R)
    assert_same(float(turned.tensor[0]), 13 / 12 * 0.921061**2 + 10 / 12 * 0.389418**2)


@law(st.integers(0, 9999), examples=20)
def test_centre_of_mass_and_the_tensor_about_it(seed):
    body, masses, places = of_cloud(seed)
    com = [sum(m * x[i] for m, x in zip(masses, places, strict=True)) / sum(masses) for i in range(3)]
    assert list(body.com) == com
    rays = [tuple(a - b for a, b in zip(x, com, strict=True)) for x in places]
    central = Inertia(body.mass, (0, 0, 0), body.tensor_at_com)
    check_cloud(central, masses, rays)
    assert Inertia.at_com(body.mass, body.com, body.tensor_at_com) == body


@law(st.integers(0, 9999), examples=20)
def test_sums_and_differences(seed):
    a, b = of_cloud(seed)[0], of_cloud(seed + 1)[0]
    assert a + b == b + a
    assert (a + b) - b == a
    assert a + Inertia() == a
    assert hash(a + Inertia()) == hash(a)


@law(st.integers(0, 9999), examples=20)
def test_principal_axes_and_the_tensor(seed):
    body = cloud(random.Random(seed))
    tensor = tuple(body["inertia"][key] for key in TENSOR_KEYS)
    about = Inertia.at_com(body["mass"], tuple(body["com"]), tensor)
    moments, axes = about.principal()
    assert (np.diff(moments) >= 0).all()
    assert_same(axes @ axes.T, np.eye(3), 1e-12)
    xx, xy, xz, yy, yz, zz = (float(x) for x in tensor)
    assert_same(axes @ np.diag(moments) @ axes.T, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], 1e-12)


def test_principal_moments_of_a_turned_box():
    R = rational_rotation(random.Random(3))
    moments, _ = box(12, (1, 2, 3)).placed(R, (4, 5, 6)).principal()
    assert_same(moments, [5, 10, 13], 1e-12)


def test_exact_principal_axes_of_a_turned_box_of_any_mass():
    body = box("m", (1, 2, 3)).placed(rational_rotation(random.Random(3)), (4, 5, 6))
    moments, axes = body.principal()
    assert sorted(map(str, moments * 12)) == ["10*m", "13*m", "5*m"]
    again = [[sum(axes[i] * moments * axes[j]) for j in range(3)] for i in range(3)]
    assert again == [list(row) for row in Inertia(tensor=body.tensor_at_com).matrix]
