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
