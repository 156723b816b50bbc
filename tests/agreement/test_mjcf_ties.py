"""Loops and springs of random MJCF files: where and how strong MuJoCo has them, at random states."""

import random

import numpy as np
import pytest

from armdyn import DescriptionError
from armdyn.description.foreign.assembly import from_xml
from armdyn.description.source import Options
from armdyn.model.robot_model import links_around
from arms import assert_same, quietly
from opened_loops import frames, tension
from random_mjcf import document, text_of

mujoco = pytest.importorskip("mujoco")


def spoken(rng):
    """A random document with a loop, springs at joints and a spring between sites; without meshes."""
    root = document(rng)
    for part in list(root.iter()):
        for child in list(part):
            if child.tag in ("asset", "light") or child.get("mesh"):
                part.remove(child)
            child.attrib.pop("material", None)
    for joint in root.find("worldbody").iter("joint"):
        if rng.random() < 0.5:
            joint.set("stiffness", f"{rng.uniform(0, 9):.3g}")
            joint.set("springref", f"{rng.uniform(-2, 2):.3g}")
    sites = list(root.find("worldbody").iter("site"))
    for site in sites:
        site.set("pos", " ".join(f"{rng.uniform(-1, 1):.3g}" for _ in range(3)))
        site.set("euler", " ".join(f"{rng.uniform(-1, 1):.3g}" for _ in range(3)))
    bodies = [body.get("name") for body in root.find("worldbody").iter("body")]
    for old in root.findall("tendon"):
        root.remove(old)
    make = type(root)
    if len(sites) > 1:
        pair = [site.get("name") for site in rng.sample(sites, 2)]
        tendon = make("spatial", {"stiffness": "4"} | rng.choice([{}, {"springlength": "0.3"}]))
        tendon.extend(make("site", {"site": name}) for name in pair)
        section = make("tendon")
        section.append(tendon)
        root.append(section)
    equality = make("equality")
    equality.append(make(*_loop(rng, bodies, [site.get("name") for site in sites])))
    root.append(equality)
    return text_of(root)


def _loop(rng, bodies, sites):
    kind = rng.choice(["connect", "weld"])
    numbers = [f"{rng.uniform(-1, 1):.3g}" for _ in range(10)]
    if len(sites) > 1 and rng.random() < 0.4:
        first, second = rng.sample(sites, 2)
        return kind, {"site1": first, "site2": second}
    ends = {"body1": bodies[-1]}
    if len(bodies) > 1 and rng.random() < 0.7:
        first, second = rng.sample(bodies, 2)
        ends = {"body1": first, "body2": second}
    if kind == "connect":
        return kind, ends | {"anchor": " ".join(numbers[:3])}
    pose = {"relpose": " ".join([*numbers[3:6], "0.5", *numbers[6:9]])}
    return kind, ends | rng.choice([{}, pose]) | rng.choice([{}, {"anchor": " ".join(numbers[:3])}])


def at(theirs, model, q):
    """MuJoCo's state at our joints, and the places of these in its vectors."""
    data = mujoco.MjData(theirs)
    order = [int(theirs.joint(link.joint_name).qposadr[0]) for link in model.moving]
    data.qpos[order] = q
    mujoco.mj_forward(theirs, data)
    return data, order


def check(text, rng):
    """All that is tied in a file; what there was to compare."""
    theirs = mujoco.MjModel.from_xml_string(text)
    model, said = None, ""
    try:
        model = quietly(lambda: from_xml(text, "random", Options()))
    except DescriptionError as error:
        said = str(error)
    if model is None:
        assert "the robot has no moving joint" in said
        return set()
    q = rng.uniform(-1, 1, len(model.moving))
    data, order = at(theirs, model, q)
    found = {"loop": _check_loop(theirs, data, model, q), "tendon": _check_tendon(theirs, data, model, q)}
    free = [i for i, link in enumerate(model.moving) if not _is_pulled(model, link)]
    ours = [
        model.number(link.spring.stiffness) * (model.number(link.spring.rest) - x)
        for link, x in zip(model.moving, q, strict=True)
    ]
    assert_same(np.array(ours)[free], data.qfrc_spring[order][free], 1e-10)
    return {name for name, x in found.items() if x}


def _check_loop(theirs, data, model, q):
    number = theirs.neq - 1  # those of joints come first
    rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_id == number)
    gap = data.efc_pos[rows]
    if not model.loops:
        return False
    ((loop, ((R_a, p_a), (R_b, p_b))),) = frames(model, q)
    assert_same(p_a - p_b, gap[:3], 1e-9)
    if loop.joint == "fixed":
        angle = np.arccos(np.clip((np.trace(R_a.T @ R_b) - 1) / 2, -1, 1))
        assert_same(np.linalg.norm(gap[3:]), np.sin(angle / 2), 1e-8)
    return True


def _check_tendon(theirs, data, model, q):
    if not model.springs:
        return False
    (spring,) = model.springs
    rest = theirs.tendon_lengthspring[0, 0]
    assert_same(tension(model, spring, q), 4 * (data.ten_length[0] - rest), 1e-9)
    return True


def _is_pulled(model, link):
    """Whether a spring between points acts on a joint."""
    return any(link.name in links_around(model, spring.between) for spring in model.springs)


@pytest.mark.filterwarnings("ignore:Inertia matrix is too close")  # of MuJoCo
@pytest.mark.parametrize("count", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_random_files(count):
    found = []
    for number in range(count):
        rng = np.random.default_rng(number)
        found.append(check(spoken(random.Random(f"ties {number}")), rng))
    assert sum("loop" in x for x in found) > count / 4
    assert sum("tendon" in x for x in found) > count / 4
