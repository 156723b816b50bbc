"""Robot files whose bodies come from meshes: read, saved, and what is refused."""

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, box
from model.test_meshes import CUBE, SIDES, TETRAHEDRON, UNIT, assert_body, spread_of, write_obj, write_stl

LINK = """
name = "arm"
convention = "dh"
gravity = [0, 0, -9.81]
[symbols]
rho = 2700
[[link]]
name = "upper arm"
joint = "revolute"
a = 0.5
alpha = 0
d = 0
"""


def load(tmp_path, lines):
    path = tmp_path / "robots" / "arm.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(LINK + lines + "\n")
    return Robot.load(path)


def test_a_robot_file_names_a_mesh_beside_it(tmp_path):
    (tmp_path / "robots").mkdir()
    write_stl(tmp_path / "robots" / "Box.stl", (CUBE - 0.5) * [500, 50, 100], SIDES)
    solid = box(2700 * 0.5 * 0.05 * 0.1, [0.5, 0.05, 0.1])
    robot = load(
        tmp_path,
        'inertia = { mesh = "Box.stl", density = 2700, scale = 0.001, '
        'origin = { xyz = [-0.25, 0, 0], rpy = [0, 0, "pi/2"] } }',
    )
    turned = solid.placed(((0, -1, 0), (1, 0, 0), (0, 0, 1)), (-0.25, 0, 0))
    body = robot.model.links[0].inertia
    assert [float(x) for x in body.entries] == pytest.approx([float(x) for x in turned.entries], rel=1e-14)
    weighed = (
        load(tmp_path, 'mass = 6.75\ninertia = { mesh = "Box.stl", scale = 0.001 }').model.links[0].inertia
    )
    assert_body(weighed, *spread_of(box(6.75, [0.5, 0.05, 0.1])))
    oblique = load(
        tmp_path,
        'inertia = { mesh = "Box.stl", density = "rho", scale = 0.001, origin = { rpy = [0.3, 0.2, 0.1] } }',
    )
    assert Robot.from_toml(oblique.to_toml()) == oblique
    assert "rho" in str(oblique.model.links[0].inertia.mass)
    principal = np.array([float(x.value({"rho": 2700})) for x in oblique.model.links[0].inertia.entries])
    assert principal[0] == pytest.approx(6.75)
    assert abs(principal[5]) > 1e-4


def test_a_saved_robot_has_the_numbers_and_says_where_they_came_from(tmp_path):
    (tmp_path / "robots").mkdir()
    write_obj(tmp_path / "robots" / "a.obj", UNIT, TETRAHEDRON)
    robot = load(tmp_path, 'inertia = { mesh = "a.obj", density = 6 }')
    text = robot.to_toml()
    said = "link 'upper arm': com and inertia were computed from the mesh 'a.obj' (4 triangles)"
    assert said in text
    assert robot.model.notes == (said,)
    assert "mass = 1\n" in text
    assert "mesh =" not in text
    assert Robot.from_toml(text) == robot
    assert Robot.from_dict(robot.to_dict()) == robot


def test_a_dictionary_names_a_mesh_from_the_working_directory(tmp_path, monkeypatch):
    write_obj(tmp_path / "a.obj", UNIT, TETRAHEDRON)
    monkeypatch.chdir(tmp_path)
    link = {"joint": "revolute", "a": 0, "alpha": 0, "d": 0, "inertia": {"mesh": "a.obj", "density": 6}}
    robot = Robot.from_dict({"name": "x", "convention": "dh", "gravity": [0, 0, 0], "link": [link]})
    assert float(robot.model.links[0].inertia.mass) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'com = [0, 0, 0]\ninertia = { mesh = "a.obj", density = 1 }',
            "upper arm'.com: given beside inertia.mesh",
        ),
        ('mass = 1\ninertia = { mesh = "a.obj", density = 1 }', "inertia.density: found both"),
        (
            'inertia = { mesh = "a.obj" }',
            "inertia.density: missing; a mesh needs its density or the link's mass",
        ),
        ('inertia = { mesh = "a.obj", density = 1, xx = 1 }', "inertia.xx: given beside mesh"),
        (
            'inertia = { mesh = "a.obj", density = 1, unit = "mm" }',
            "inertia.unit: unknown key; allowed here: density",
        ),
        ('inertia = { mesh = "a.obj", density = "-rho" }', "inertia.density: expected a positive number"),
        ('inertia = { mesh = "none.obj", density = 1 }', "inertia.mesh: "),
        ("inertia = { mesh = 3, density = 1 }", "inertia.mesh: expected a text, found 3"),
        ('inertia = { mesh = "bad\\u0000.obj", density = 1 }', "inertia.mesh: "),
        ("inertia = { density = 1 }", "inertia.density: given without mesh"),
    ],
)
def test_what_does_not_fit_a_mesh_is_refused(lines, message, tmp_path):
    (tmp_path / "robots").mkdir()
    write_obj(tmp_path / "robots" / "a.obj", UNIT, TETRAHEDRON)
    with pytest.raises(ArmdynError) as caught:
        load(tmp_path, lines)
    assert message in str(caught.value)
    assert "arm.toml: link 'upper arm'" in str(caught.value)
