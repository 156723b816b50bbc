"""A URDF with visual meshes, and the files of these meshes."""

import struct

import numpy as np

URDF = """<?xml version="1.0"?>
<robot name="meshed">
  <material name="orange"><color rgba="1 0.5 0 1"/></material>
  <link name="base">
    <visual><geometry>
      <mesh filename="package://some_robot/meshes/base.stl" scale="0.001 0.001 0.001"/></geometry>
      <material name="orange"/></visual>
  </link>
  <link name="arm">
    <inertial><mass value="2"/><origin xyz="0.2 0 0"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.2 0 0" rpy="0 1.5707963 0"/>
      <geometry><cylinder radius="0.03" length="0.4"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/arm.obj"/></geometry></visual>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry>
      <material name="m"><color rgba="0 0 1 0.5"/></material></visual>
    <visual><geometry><sphere radius="0.05"/></geometry></visual>
    <visual><geometry><mesh filename="package://some_robot/meshes/gone.stl"/></geometry></visual>
    <visual><geometry><mesh filename="https://example.org/x.stl"/></geometry></visual>
    <visual><origin xyz="0 0"/><geometry><sphere radius="0.05"/></geometry></visual>
  </link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.3" rpy="0.2 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="10" velocity="1"/></joint>
</robot>
"""
CUBE = np.array([[x, y, z] for x in (-50, 50) for y in (-50, 50) for z in (0, 300)], float)
FACES = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)]
FACES += [(2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]


def stl(path, corners=CUBE):
    """A binary STL file of a box."""
    triangles = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(float(x) for k in face for x in corners[k]), 0) for face in FACES
    )
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(FACES)) + triangles)


def meshed(folder):
    """A URDF with its files, as ROS packages have them."""
    package = folder / "some_robot"
    (package / "urdf" / "meshes").mkdir(parents=True)
    (package / "meshes").mkdir()
    stl(package / "meshes" / "base.stl")
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE / 1000] + [
        f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES
    ]
    (package / "urdf" / "meshes" / "arm.obj").write_text("mtllib /etc/passwd\n" + "\n".join(lines))
    (package / "urdf" / "robot.urdf").write_text(URDF)
    return package / "urdf" / "robot.urdf"


def dae(path, colours):
    """A COLLADA file of boxes, one above the other, each with a colour of its own."""
    points = " ".join(f"{x:g}" for x in (CUBE / 1000).ravel())
    faces = " ".join(f"{k}" for face in FACES for k in face)
    parts = dict.fromkeys(("EFFECTS", "MATERIALS", "GEOMETRIES", "NODES"), "")
    for i, colour in enumerate(colours):
        words = {"POINTS": points, "FACES": faces, "COLOUR": colour, "HEIGHT": f"{0.3 * i:g}", "@": f"{i}"}
        for kind, text in zip(parts, COLLADA_PART.split("\n\n"), strict=True):
            for word, value in words.items():
                text = text.replace(word, value)
            parts[kind] += text
    text = COLLADA
    for kind, part in parts.items():
        text = text.replace(kind, part)
    path.write_text(text)


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_effects>EFFECTS</library_effects>
<library_materials>MATERIALS</library_materials>
<library_geometries>GEOMETRIES</library_geometries>
<library_visual_scenes><visual_scene id="all">NODES</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#all"/></scene>
</COLLADA>
"""
COLLADA_PART = """<effect id="e@"><profile_COMMON><technique sid="common"><lambert><diffuse>
  <color>COLOUR</color></diffuse></lambert></technique></profile_COMMON></effect>

<material id="m@"><instance_effect url="#e@"/></material>

<geometry id="g@"><mesh>
  <source id="s@"><float_array id="a@" count="24">POINTS</float_array>
    <technique_common><accessor source="#a@" count="8" stride="3">
      <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
    </accessor></technique_common></source>
  <vertices id="v@"><input semantic="POSITION" source="#s@"/></vertices>
  <triangles count="12" material="c"><input semantic="VERTEX" source="#v@" offset="0"/><p>FACES</p>
  </triangles>
</mesh></geometry>

<node id="n@"><translate>0 0 HEIGHT</translate><instance_geometry url="#g@"><bind_material>
  <technique_common><instance_material symbol="c" target="#m@"/></technique_common>
</bind_material></instance_geometry></node>"""


def obj(path, colour):
    """An OBJ file of a box, its colour in the file of materials beside it."""
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE / 1000]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FACES]
    path.with_suffix(".mtl").write_text(f"newmtl own\nKd {colour}\n")
    path.write_text(f"mtllib {path.with_suffix('.mtl').name}\nusemtl own\n" + "\n".join(lines))
