"""Inertia tensors of solids and the parallel-axis theorem: 003, "Mass Distribution"; 004, slides 11–14."""

import pytest

from armdyn import Inertia, box, cylinder, hollow_cylinder, point_mass, rod, sphere
from armdyn.expression import Expression, parse
from armdyn.model.inertia import steiner
from armdyn.model.vector import multiply, rotation_about, transpose
from textbook_arm import cross_matrix

Z_TO_X = rotation_about((0, 1, 0), 0, 1)  # a quarter turn about y: the solid's z axis becomes x


def texts(*entries):
    return tuple(parse(str(x)) for x in entries)


def tensor(inertia):
    return tuple(Expression.of(x) for x in inertia.tensor)


def test_box_about_its_centre():
    """003: diag of m/12 (l² + h²) …, edges w, l, h along x, y, z."""
    expected = texts("m*(l**2 + h**2)/12", 0, 0, "m*(w**2 + h**2)/12", 0, "m*(w**2 + l**2)/12")
    assert tensor(box("m", ("w", "l", "h"))) == expected


def test_box_about_its_corner():
    """003: m/3 (l² + h²) on the diagonal, −m/4 w l and so on beside it."""
    corner = box("m", ("w", "l", "h")).translated(texts("w/2", "l/2", "h/2"))
    expected = texts(
        "m*(l**2 + h**2)/3", "-m*w*l/4", "-m*h*w/4", "m*(w**2 + h**2)/3", "-m*h*l/4", "m*(w**2 + l**2)/3"
    )
    assert tensor(corner) == expected
    assert corner.moment == texts("m*w/2", "m*l/2", "m*h/2")


def test_parallel_axis_theorem_takes_the_corner_back_to_the_centre():
    """003: ^C I = ^A I − m (P_Cᵀ P_C 1 − P_C P_Cᵀ)."""
    centred = box("m", ("w", "l", "h"))
    corner = centred.translated(texts("w/2", "l/2", "h/2"))
    assert tuple(map(Expression.of, corner.tensor_at_com)) == tensor(centred)
    assert corner.com == texts("w/2", "l/2", "h/2")


def test_parallel_axis_theorem_as_printed():
    """003: what a displacement P_C adds, entry by entry, to any tensor."""
    body = Inertia(parse("m"), (0, 0, 0), texts("Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz"))
    expected = texts(
        "Jxx + m*(y**2 + z**2)",
        "Jxy - m*x*y",
        "Jxz - m*x*z",
        "Jyy + m*(x**2 + z**2)",
        "Jyz - m*y*z",
        "Jzz + m*(x**2 + y**2)",
    )
    assert tensor(body.translated(texts("x", "y", "z"))) == expected
    assert tensor(Inertia.at_com(body.mass, texts("x", "y", "z"), body.tensor)) == expected


def test_steiner_term_is_the_product_of_cross_matrices():
    """004, homework 3: rᵀr E − r rᵀ = Sᵀ(r) S(r)."""
    r = texts("x", "y", "z")
    S = tuple(tuple(Expression.of(x) for x in row) for row in cross_matrix(r))
    product = multiply(transpose(S), S)
    entries = (product[0][0], product[0][1], product[0][2], product[1][1], product[1][2], product[2][2])
    assert entries == steiner(Expression.of(1), r)


def test_inertia_matrix_follows_from_the_euler_matrix():
    """004, homeworks 1 and 2: I_c = tr(J_c) E − J_c; of a box, J_c = m/12 diag(w², l², h²)."""
    J = texts("m*w**2/12", "m*l**2/12", "m*h**2/12")
    trace = J[0] + J[1] + J[2]
    found = tensor(box("m", ("w", "l", "h")))
    assert (found[0], found[3], found[5]) == tuple(trace - x for x in J)


def test_cylinder_about_its_centre_and_its_end():
    """003, tutorial 1: m/12 (3r² + h²) across, m r²/2 along; at the far end m/12 (3r² + 4h²) across."""
    centred = cylinder("m", "r", "h")
    end = centred.translated(texts(0, 0, "h/2"))
    across, across_end = "m*(3*r**2 + h**2)/12", "m*(3*r**2 + 4*h**2)/12"
    assert tensor(centred) == texts(across, 0, 0, across, 0, "m*r**2/2")
    assert tensor(end) == texts(across_end, 0, 0, across_end, 0, "m*r**2/2")


def test_hollow_cylinder_about_its_centre_and_its_base():
    """004, slide 12: axis along x, radii a and b; I_zz' = I_zz + m (h/2)² about the base."""
    tube = hollow_cylinder("m", "b", "a", "h").rotated(Z_TO_X)
    across = "m*(3*(a**2 + b**2) + h**2)/12"
    assert tensor(tube) == texts("m*(a**2 + b**2)/2", 0, 0, across, 0, across)
    base = tube.translated(texts("h/2", 0, 0))
    assert Expression.of(base.tensor[5]) == parse(f"{across} + m*(h/2)**2")
    assert Expression.of(base.tensor[0]) == parse("m*(a**2 + b**2)/2")


def test_parallelepiped_of_the_lecture():
    """004, slide 12: sides a along x, b and c across."""
    expected = texts("m*(b**2 + c**2)/12", 0, 0, "m*(a**2 + c**2)/12", 0, "m*(a**2 + b**2)/12")
    assert tensor(box("m", ("a", "b", "c"))) == expected


def test_thin_solids_are_limits_of_the_others():
    """A rod is a box without cross-section; four points on a circle have the tensor of a thin ring."""
    assert tensor(rod("m", "w")) == tensor(box("m", ("w", 0, 0)))
    assert tensor(hollow_cylinder("m", "r", "r", 0)) == texts("m*r**2/2", 0, 0, "m*r**2/2", 0, "m*r**2")
    quarters = [point_mass("m/4", p) for p in (("r", 0, 0), ("-r", 0, 0), (0, "r", 0), (0, "-r", 0))]
    assert tensor(sum(quarters[1:], quarters[0])) == tensor(hollow_cylinder("m", "r", "r", 0))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_sphere_is_the_same_in_all_axes(axis):
    turned = sphere("m", "r").rotated(rotation_about(axis, 0, 1))
    assert tensor(turned) == texts("2*m*r**2/5", 0, 0, "2*m*r**2/5", 0, "2*m*r**2/5")
