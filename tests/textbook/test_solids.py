"""Inertia tensors of solids and the parallel-axis theorem: 003, "Mass Distribution"; 004, slides 11–14."""

import numpy as np
import pytest

from armdyn import Inertia, box, cylinder, hollow_cylinder, point_mass, rod, sphere
from armdyn.expression import Expression, parse
from armdyn.model import ModelError
from armdyn.model.inertia import steiner
from armdyn.model.vector import multiply, rotation_about, transpose
from arms import assert_same
from golden_messages import golden_error
from printed_formulas import LatexReader
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
    corner = box("m", ("w", "l", "h")).translated(["w/2", "l/2", "h/2"])
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


# ---- written, and principal axes ---------------------------------------------------------------------------


def test_corner_of_a_box_as_it_is_written():
    corner = box("m", ("w", "l", "h")).translated(["w/2", "l/2", "h/2"])
    assert str(corner).splitlines() == [
        "Mass: m",
        "Centre of mass: [1/2*w, 1/2*l, 1/2*h]",
        "Tensor about the origin:",
        "[[1/3*m*(h**2 + l**2), -1/4*m*l*w, -1/4*m*h*w]",
        " [-1/4*m*l*w, 1/3*m*(h**2 + w**2), -1/4*m*h*l]",
        " [-1/4*m*h*w, -1/4*m*h*l, 1/3*m*(l**2 + w**2)]]",
        "Tensor about the centre of mass:",
        "[[1/12*m*(h**2 + l**2), 0, 0]",
        " [0, 1/12*m*(h**2 + w**2), 0]",
        " [0, 0, 1/12*m*(l**2 + w**2)]]",
    ]
    assert (
        repr(cylinder(2, 1, 3))
        == "Inertia(mass=2, moment=[0, 0, 0], tensor=[[2, 0, 0], [0, 2, 0], [0, 0, 1]])"
    )
    assert corner._repr_html_() == corner.mathml()


def test_printed_tensors_and_numbers():
    """The LaTeX of a turned and shifted body, read back; in Markdown it is the same."""
    body = rod("m", "w").rotated([["cos(b)", "-sin(b)", 0], ["sin(b)", "cos(b)", 0], [0, 0, 1]])
    body = body.translated(["w/2", 0, "h"])
    values = {"m": 3.0, "w": 0.4, "h": 0.7, "b": 0.8}
    read = LatexReader(dict(values) | {r"\cos(b)": np.cos(0.8), r"\sin(b)": np.sin(0.8)})
    printed = [
        line.removesuffix(r" \\").split(" &= ") for line in body.latex().splitlines() if " &= " in line
    ]
    found = {left: read(right) for left, right in printed}
    number = np.vectorize(lambda x: Expression.of(x).value(values))
    assert_same(found[r"\text{mass}"], number(body.mass))
    assert_same(np.ravel(found["r_{C}"]), number(body.com))
    assert_same(found["I_{O}"], number(body.matrix))
    assert_same(found["I_{C}"], number(Inertia(tensor=body.tensor_at_com).matrix))
    assert all(right in body.markdown() for _, right in printed)


CORNER = Inertia(tensor=box("m", ["a", "a", "a"]).translated(["a/2", "a/2", "a/2"]).tensor)  # of a cube
TURNED = box("m", ["a", "2*a", "3*a"]).rotated([["3/5", "-4/5", 0], ["4/5", "3/5", 0], [0, 0, 1]])
ALIKE = Inertia(tensor=texts("A", "B", 0, "A", 0, "C"))


@pytest.mark.parametrize(
    "body", [box("m", ["a", "b", "c"]), CORNER, TURNED, ALIKE], ids=["box", "cube", "turned", "alike"]
)
def test_exact_principal_axes_and_the_tensor(body):
    """A = V diag(λ) Vᵀ and V Vᵀ = 1, exactly, whatever the symbols are."""
    moments, axes = body.principal()
    tensor = Inertia(tensor=body.tensor).matrix  # all are about the centre of mass here
    for i in range(3):
        for j in range(3):
            assert sum(axes[i] * axes[j]) == int(i == j)
            assert sum(axes[i] * moments * axes[j]) == tensor[i][j]
    values = {"m": 2.0, "a": 0.3, "b": 0.5, "c": 0.9, "A": 3.0, "B": 0.5, "C": 1.0}
    number = np.vectorize(lambda x: Expression.of(x).value(values))
    assert_same(np.sort(number(moments)), np.linalg.eigvalsh(number(tensor)))


def test_principal_axes_of_numbers_are_floats_unless_exact_ones_are_asked_for():
    body = box(3, [0.4, 0.2, 0.1]).rotated([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
    moments, axes = body.principal()
    exact, turned = body.principal(exact=True)
    assert moments.dtype == axes.dtype == float
    assert_same(moments, np.sort(exact.astype(float)))
    assert {str(x) for x in abs(turned).flat} == {"0", "1", "0.6", "0.8"}


def test_wrong_bodies():
    solid = box("m", ["a", "b", "c"])
    wrong = [
        lambda: solid.translated(["w/2", "d/2"]),
        lambda: solid.translated("w/2"),
        lambda: solid.translated(["w/", 0, 0]),
        lambda: solid.translated([None, 0, 0]),
        lambda: solid.rotated("x"),
        lambda: solid.rotated([[1, 0, 0], [0, 1]]),
        lambda: solid.rotated([[1, 0, 0], [0, 1], [0, 0, 1]]),
        (solid + point_mass("M", ["a", "b", 0])).principal,
        box("m", ["c1", 1, 1]).latex,
    ]
    for work in wrong:
        with golden_error(ModelError):
            work()
