"""Bodies from meshes: against closed forms, moved and turned; and the meshes that are refused."""

import math
import random
import struct
import sys

import numpy as np
import pytest

from armdyn import ArmdynError, Inertia, box
from arms import assert_same
from golden_messages import golden_error

UNIT = np.vstack([np.zeros(3), np.eye(3)])  # corners of a tetrahedron
TETRAHEDRON = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
CUBE = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def triangles(faces):
    return [(face[0], face[i], face[i + 1]) for face in faces for i in range(1, len(face) - 1)]


def write_obj(path, vertices, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices, dtype=float).tolist()]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_text_stl(path, vertices, faces):
    corners = np.asarray(vertices, dtype=float)[triangles(faces)].tolist()
    facets = [
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"  vertex {x!r} {y!r} {z!r}\n" for x, y, z in corner)
        + "endloop\nendfacet\n"
        for corner in corners
    ]
    path.write_text("solid some name\n" + "".join(facets) + "endsolid some name\n")
    return path


def write_stl(path, vertices, faces, head=b"solid, yet binary"):
    corners = np.asarray(vertices)[triangles(faces)]
    records = np.zeros(len(corners), [("normal", "<f4", 3), ("corners", "<f4", 9), ("attribute", "<u2")])
    records["corners"] = corners.reshape(-1, 9)
    path.write_bytes(head.ljust(80) + struct.pack("<I", len(corners)) + records.tobytes())
    return path


WRITERS = {"a.obj": write_obj, "a.stl": write_text_stl, "A.STL": write_stl}


def numbers(body):
    """mass, com (3,) and the tensor about it (3, 3)."""
    xx, xy, xz, yy, yz, zz = (float(x) for x in body.tensor_at_com)
    com = np.array([float(x) for x in body.com])
    return float(body.mass), com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def assert_body(body, mass, com, spread, tolerance=1e-12):
    """The same mass, com and ∫ x xᵀ dm about it, relative to the mass and the size."""
    found, at, tensor = numbers(body)
    expected = np.trace(spread) * np.eye(3) - spread
    assert_same(found, mass, tolerance)
    assert abs(at - com).max() <= tolerance * max(
        abs(np.asarray(com)).max(), math.sqrt(np.trace(spread) / mass)
    )
    assert abs(tensor - expected).max() <= tolerance * abs(expected).max()


def rotation(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


@pytest.mark.parametrize("name", WRITERS)
def test_a_tetrahedron_is_the_unit_one_mapped(name, tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(5):
        A, p = rng.normal(size=(3, 3)), rng.normal(size=3)
        A *= np.sign(np.linalg.det(A))
        vertices = (UNIT @ A.T + p).astype(np.float32).astype(float)
        A, p = (vertices[1:] - vertices[0]).T, vertices[0]
        body = Inertia.from_mesh(WRITERS[name](tmp_path / name, vertices, TETRAHEDRON), 700)
        mass = 700 * np.linalg.det(A) / 6
        spread = mass / 80 * A @ (4 * np.eye(3) - np.ones((3, 3))) @ A.T  # of the unit one: 3/80 and -1/80
        assert_body(body, mass, p + A @ np.full(3, 0.25), spread)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("faces", [SIDES, triangles(SIDES)])
def test_a_box_is_the_solid_box(name, faces, tmp_path):
    size = np.array([0.5, 0.25, 2.0])
    path = WRITERS[name](tmp_path / name, (CUBE - 0.5) * size, faces)
    body, solid = Inertia.from_mesh(path, 2700), box(2700 * size.prod(), size.tolist())
    assert_body(body, *spread_of(solid))
    assert_body(Inertia.from_mesh(path, mass=3, scale=0.001), *spread_of(box(3, (size / 1000).tolist())))


def spread_of(body):
    mass, com, tensor = numbers(body)
    return mass, com, np.trace(tensor) / 2 * np.eye(3) - tensor


def test_moved_and_turned_boxes_keep_steiners_theorem(tmp_path):
    rng = np.random.default_rng(5)
    for distance in (0.0, 1.0, 1e3):
        size, R, p = rng.uniform(0.1, 1, 3), rotation(rng), distance * rng.normal(size=3)
        at_origin = Inertia.from_mesh(write_obj(tmp_path / "a.obj", ((CUBE - 0.2) * size) @ R.T, SIDES), 1000)
        moved = Inertia.from_mesh(write_obj(tmp_path / "b.obj", ((CUBE - 0.2) * size) @ R.T + p, SIDES), 1000)
        mass, com, spread = spread_of(at_origin)
        solid, _, tensor = numbers(box(1000 * size.prod(), size.tolist()))
        assert_body(at_origin, solid, R @ (0.3 * size), R @ (np.trace(tensor) / 2 * np.eye(3) - tensor) @ R.T)
        rounding = 1e-12 + 1e-15 * distance / size.min()  # that of the coordinates in the file
        assert_body(moved, mass, com + p, spread, 10 * rounding)
        about_origin = np.array([[float(x) for x in row] for row in moved.matrix])
        central = np.trace(spread) * np.eye(3) - spread
        at = com + p
        steiner = central + mass * (at @ at * np.eye(3) - np.outer(at, at))
        assert abs(about_origin - steiner).max() <= 1e-12 * abs(steiner).max()


def test_a_body_far_away_keeps_its_digits(tmp_path):
    """Vertices that are floats a million away, exactly: the same body about its centre."""
    vertices = (CUBE - 0.5) * [0.5, 0.25, 2.0]
    far = vertices + np.array([2.0**20, -(2.0**21), 2.0**19])
    body = Inertia.from_mesh(write_obj(tmp_path / "a.obj", far, SIDES), 1000)
    solid = box(250, [0.5, 0.25, 2.0])
    assert_same(numbers(body)[2], numbers(solid)[2], 1e-14)
    assert numbers(body)[1] == pytest.approx([2.0**20, -(2.0**21), 2.0**19], rel=1e-16)


# ---- the torus ---------------------------------------------------------------------------------------------


def torus_mesh(R, r, around, across):
    u = 2 * np.pi * np.arange(around)[:, None] / around
    v = 2 * np.pi * np.arange(across) / across
    rho = R + r * np.cos(v)
    vertices = np.stack([rho * np.cos(u), rho * np.sin(u), r * np.sin(v) + 0 * u], axis=-1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.indices((around, across)))
    a, b = (i + 1) % around * across, (j + 1) % across
    return vertices, np.stack([i * across + j, a + j, a + b, i * across + b], axis=1).tolist()


def torus_polyhedron(R, r, around, across):
    """Volume, ∫ x² = ∫ y² and ∫ z² of the polyhedron of `torus_mesh`, in closed form.

    Its quadrilaterals are plane trapezoids. Within half an angle π/N to both sides of a sector's middle it is
    |y| ≤ x tan(π/N) over a regular polygon, whose x is shortened by cos(π/N); of that polygon the area is A,
    the second moments about its centre I, and the third moments zero (from four corners on).
    """
    A = across / 2 * r**2 * math.sin(2 * math.pi / across)
    I = A * r**2 * (2 + math.cos(2 * math.pi / across)) / 12
    sectors = around * math.sin(2 * math.pi / around)
    c, t = math.cos(math.pi / around), math.tan(math.pi / around)
    plane = sectors * c**2 * (1 + t**2 / 3) * (A * R**3 + 3 * R * I)
    return sectors * R * A, plane / 2, sectors * R * I


@pytest.mark.parametrize("name", ["a.obj", "a.stl"])
def test_a_torus_of_trapezoids_has_its_closed_form(name, tmp_path):
    rng = np.random.default_rng(7)
    for around, across in ((24, 16), (3, 5), (41, 7)):
        vertices, faces = torus_mesh(0.7, 0.2, around, across)
        volume, xx, zz = torus_polyhedron(0.7, 0.2, around, across)
        turn, p = rotation(rng), rng.normal(size=3)
        body = Inertia.from_mesh(WRITERS[name](tmp_path / name, vertices @ turn.T + p, faces), 1.0)
        assert_body(body, volume, p, turn @ np.diag([xx, xx, zz]) @ turn.T)


def test_finer_and_finer_meshes_tend_to_the_smooth_torus(tmp_path):
    """Extrapolated to width zero (Neville): errors are a series in the square of the mesh's width."""
    R, r = 0.7, 0.2
    counts = (12, 16, 24, 32, 48, 64)
    rows = []
    for n in counts:
        path = write_obj(tmp_path / "a.obj", *torus_mesh(R, r, n, n))
        mass, _, tensor = numbers(Inertia.from_mesh(path, 1.0))
        rows.append(np.array([mass, tensor[0, 0], tensor[2, 2]]))
    for k in range(1, len(rows)):
        ratios = [(counts[i + k] / counts[i]) ** 2 for i in range(len(rows) - 1)]
        rows = [b + (b - a) / (x - 1) for a, b, x in zip(rows, rows[1:], ratios, strict=False)]
    m = 2 * math.pi**2 * R * r**2
    smooth = m * np.array([1, (4 * R**2 + 5 * r**2) / 8, (4 * R**2 + 3 * r**2) / 4])
    assert_same(rows[0], smooth, 1e-12)


# ---- files -------------------------------------------------------------------------------------------------


def test_obj_files_are_read_as_they_are_written(tmp_path):
    """Texture and normals, a polygon that is not convex, continued lines, comments."""
    path = tmp_path / "l.obj"
    path.write_text(
        "# an L of height 1: area 3\nmtllib none.mtl\no part\n"
        "v 0 0 0\nv 2 0 0 1.0\nv 2 1 0 0.5 0.5 0.5\nv 1 1 0 # so\nv 1 2 0 #\nv 0 2 0\nvt 0 0\nvn 0 0 1\n"
        "f 6 5 4 3 2 1\n"
        "v 0 0 1\nv 2 0 1\nv 2 1 1\nv 1 1 1\nv 1 2 1\nv 0 2 1\n"
        "f 10//1 11/1/1 12/1 \\\n 7 8 9 # the top\n"
        + "".join(
            f"f {i + 1} {j + 1} {j + 7} {i + 7}\n" for i, j in zip(range(6), [1, 2, 3, 4, 5, 0], strict=True)
        )
    )
    body = Inertia.from_mesh(path, 2)
    mass, com, _ = numbers(body)
    assert_same(mass, 6, 1e-15)
    assert_same(com, [5 / 6, 5 / 6, 0.5], 1e-15)
    parts = [(box(4, [2, 1, 1]), (1, 0.5, 0.5)), (box(2, [1, 1, 1]), (0.5, 1.5, 0.5))]
    whole = sum((b.translated(p) for b, p in parts[1:]), parts[0][0].translated(parts[0][1]))
    assert_same(numbers(body)[2], numbers(whole)[2], 1e-14)


def test_a_hollow_is_taken_away_and_parts_add(tmp_path):
    inner = (CUBE - 0.5) * 0.5
    vertices = np.vstack([CUBE - 0.5, inner, CUBE + 3])
    faces = [
        *SIDES,
        *([i + 8 for i in face[::-1]] for face in SIDES),
        *([i + 16 for i in face] for face in SIDES),
    ]
    found = Inertia.from_mesh(write_obj(tmp_path / "a.obj", vertices, faces), 8)
    whole = box(8, [1, 1, 1]) - box(1, [0.5, 0.5, 0.5]) + box(8, [1, 1, 1]).translated((3.5, 3.5, 3.5))
    assert_same(float(found.mass), 15, 1e-14)
    assert_same(numbers(found)[2], numbers(whole)[2], 1e-13)


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_lines_may_end_as_on_other_systems(end, tmp_path):
    for write, name in ((write_obj, "a.obj"), (write_text_stl, "a.stl")):
        path = write(tmp_path / name, UNIT, TETRAHEDRON)
        plain = Inertia.from_mesh(path, 6)
        assert Inertia.from_mesh(spoilt(path, lambda b: b.replace(b"\n", end)), 6) == plain


def test_a_mark_of_utf8_at_the_beginning_changes_nothing(tmp_path):
    for write, name in ((write_obj, "a.obj"), (write_text_stl, "a.stl")):
        path = write(tmp_path / name, UNIT, TETRAHEDRON)
        plain = Inertia.from_mesh(path, 6)
        assert Inertia.from_mesh(spoilt(path, lambda b: b"\xef\xbb\xbf" + b), 6) == plain


def test_vertices_without_faces_change_nothing(tmp_path):
    plain = Inertia.from_mesh(write_obj(tmp_path / "a.obj", UNIT, TETRAHEDRON), 6)
    for far in (1e8, 1e30):
        vertices = np.vstack([UNIT, np.full(3, far)])
        assert Inertia.from_mesh(write_obj(tmp_path / "a.obj", vertices, TETRAHEDRON), 6) == plain


def test_faces_without_area_change_nothing(tmp_path):
    plain = Inertia.from_mesh(write_stl(tmp_path / "a.stl", UNIT, TETRAHEDRON), 6)
    more = Inertia.from_mesh(write_stl(tmp_path / "b.stl", UNIT, [*TETRAHEDRON, (1, 1, 2), (3, 3, 3)]), 6)
    assert more == plain


def test_symbols_stay_symbols(tmp_path):
    body = Inertia.from_mesh(write_obj(tmp_path / "a.obj", UNIT, TETRAHEDRON), "rho", scale="s")
    assert set(body.mass.symbols()) == {"rho", "s"}
    number = Inertia.from_mesh(tmp_path / "a.obj", 12, scale=0.5)
    values = {"rho": 12.0, "s": 0.5}
    assert [x.value(values) for x in body.entries] == pytest.approx(
        [float(x) for x in number.entries], rel=1e-14
    )


BAD_MESHES = {
    "open": (UNIT, TETRAHEDRON[:3], "3 edges belong to one face only, so the mesh is open"),
    "one side turned over": (
        UNIT,
        [*TETRAHEDRON[:3], (1, 3, 2)],
        "3 edges belong to two faces that disagree",
    ),
    "inside out": (UNIT, [f[::-1] for f in TETRAHEDRON], "the mesh is inside out (its volume is -0.1667)"),
    "twice": (UNIT, TETRAHEDRON * 2, "6 edges belong to more than two faces; the first goes from (0 0 0) to"),
    "flat": (UNIT * [1, 1, 0], [(0, 1, 2), (0, 2, 1)], "the mesh has no volume"),
    "a part inside out": (
        np.vstack([UNIT, UNIT + 5]),
        [*TETRAHEDRON, *([i + 4 for i in f[::-1]] for f in TETRAHEDRON)],
        "one of its 2 parts, with a corner at (6 5 5), is inside out",
    ),
    "a part within": (
        np.vstack([UNIT, UNIT / 8 + 0.1]),
        [*TETRAHEDRON, *([i + 4 for i in f] for f in TETRAHEDRON)],
        "one of its 2 parts, with a corner at (0.1 0.1 0.1), lies inside another part",
    ),
    "no area": (UNIT, [(0, 1, 1)], "all of its faces have equal corners"),
    "no faces": (UNIT, [], "the mesh has no faces"),
    "tiny": (1e-100 * UNIT, TETRAHEDRON, "the mesh is 1e-100 large; at least 1e-30 is expected"),
}


@pytest.mark.parametrize("name", BAD_MESHES)
def test_bad_meshes_are_refused(name, tmp_path):
    vertices, faces, message = BAD_MESHES[name]
    path = write_obj(tmp_path / "bad.obj", vertices, faces)
    with pytest.raises(ArmdynError) as caught:
        Inertia.from_mesh(path, 1)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def spoilt(path, change):
    path.write_bytes(change(path.read_bytes()))
    return path


BAD_FILES = {
    "cut.stl": (
        write_stl,
        lambda b: b[:-30],
        "50 for each triangle (4 by its count), and a text begins with 'solid'; found 254",
    ),
    "long.stl": (write_stl, lambda b: b + b"x", "found 285 bytes that begin with 'solid, yet binary'"),
    "short.stl": (write_stl, lambda b: b[:20].replace(b"solid", b"xxxxx"), "a binary STL file has 84 bytes"),
    "nan.stl": (
        write_stl,
        lambda b: b[:96] + struct.pack("<f", math.nan) + b[100:],
        "a coordinate is a number up to 1e+30, found (nan 0 0)",
    ),
    "text.stl": (write_text_stl, lambda b: b[: b.rindex(b"endfacet")], "the mesh has no faces"),
    "three.stl": (
        write_text_stl,
        lambda b: b.replace(b"endloop", b"vertex 0 0 0\nendloop"),
        "cannot read the mesh: ",
    ),
    "four.stl": (
        write_text_stl,
        lambda b: b.replace(b"vertex 1.0", b"vertex 1.0 2", 1),
        "cannot read the mesh: ",
    ),
    "pointer.stl": (  # what Git leaves where a large file was not fetched
        write_text_stl,
        lambda b: (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\n"
        ),
        "and a text begins with 'solid'; found 87 bytes that begin with 'version https://git-lfs.github.com/spec/",
    ),
    "inf.stl": (
        write_text_stl,
        lambda b: b.replace(b"1.0", b"inf", 1),
        "a coordinate is a number up to 1e+30, found (0 inf 0)",
    ),
    "word.obj": (write_obj, lambda b: b.replace(b"1.0", b"one", 1), "cannot read the mesh: "),
    "nan.obj": (
        write_obj,
        lambda b: b.replace(b"1.0", b"nan", 1),
        "a coordinate is a number up to 1e+30, found (nan 0 0)",
    ),
    "far.obj": (write_obj, lambda b: b + b"f 1 2 9\n", "cannot read the mesh: index 8 is out of bounds"),
    "zero.obj": (
        write_obj,
        lambda b: b + b"f 0 1 2\n",
        "a corner of a face is the number of a vertex, from 1 on, found '0'",
    ),
    "from the end.obj": (write_obj, lambda b: b + b"f -1 -2 -3\n", "from 1 on, found '-1'"),
    "short.obj": (
        write_obj,
        lambda b: b.replace(b"v 1.0 0.0 0.0", b"v 1.0 0.0", 1),
        "cannot read the mesh: ",
    ),
    "other.dae": (write_obj, lambda b: b, "found the suffix '.dae'; allowed: .stl, .obj"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(name, tmp_path):
    write, change, message = BAD_FILES[name]
    path = spoilt(write(tmp_path / name, UNIT, TETRAHEDRON), change)
    with pytest.raises(ArmdynError) as caught:
        Inertia.from_mesh(path, 1)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_spoilt_files_raise_nothing_else(name, tmp_path):
    """Bytes changed, left out and doubled at random: read, or refused with an error of armdyn's."""
    rng = random.Random(11)
    whole = WRITERS[name](tmp_path / name, UNIT, TETRAHEDRON).read_bytes()
    refused = 0
    for _ in range(80):
        spoilt = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            i = rng.randrange(len(spoilt))
            match rng.randrange(3):
                case 0:
                    spoilt[i] = rng.choice(b"\0\xff\n e-/9\\")
                case 1:
                    del spoilt[i : i + rng.randint(1, 40)]
                case _:
                    spoilt[i:i] = spoilt[i : i + rng.randint(1, 40)]
        (tmp_path / name).write_bytes(spoilt)
        try:
            assert float(Inertia.from_mesh(tmp_path / name, 1).mass) > 0
        except ArmdynError:
            refused += 1
    assert refused > 20


def test_without_trimesh_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = write_obj(tmp_path / "a.obj", UNIT, TETRAHEDRON)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with golden_error(ArmdynError):
        Inertia.from_mesh(path, 1)


def test_arguments_are_checked(tmp_path):
    path = write_obj(tmp_path / "a.obj", UNIT, TETRAHEDRON)
    with golden_error(ArmdynError):
        Inertia.from_mesh(path)
    with golden_error(ArmdynError):
        Inertia.from_mesh(path, 1, mass=1)
    with pytest.raises(ArmdynError, match="density: expected a positive number, found 0"):
        Inertia.from_mesh(path, 0)
    with golden_error(ArmdynError):
        Inertia.from_mesh(path, 1, scale=-1)
    with golden_error(ArmdynError):
        Inertia.from_mesh(path, 1, scale=1e200)
    with golden_error(ArmdynError):
        Inertia.from_mesh(tmp_path / "none.stl", 1)
    (tmp_path / "folder.stl").mkdir()
    with golden_error(ArmdynError):
        Inertia.from_mesh(tmp_path / "folder.stl", 1)
    with golden_error(ArmdynError):
        Inertia.from_mesh(3, 1)
