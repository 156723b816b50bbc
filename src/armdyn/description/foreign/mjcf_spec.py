"""The package mujoco: the only place that calls it.

A file is read as an `MjSpec`, in which defaults are in place but nothing is loaded. What is needed of
actuators, equalities and tendons is taken from there. Then the bodies are read alone, geometry that no
inertia depends on is deleted, and the rest is compiled to an `MjModel`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from armdyn.description.foreign.mjcf_text import MjcfSource
from armdyn.description.source import DescriptionError
from armdyn.names import one_line, quoted

_LINE = re.compile(r",? line \d+")
_MOST_GEOMS = 2000  # of bodies without <inertial>: MuJoCo takes long to delete many
_SAME = 1e-9  # of the largest moment: written and compiled ones are the same body


@dataclass(frozen=True)
class Actuator:
    """Data of an actuator on a joint."""

    joint: str  # "" where it acts on something else
    name: str
    gear: float
    armature: float
    damping: float
    force: tuple[float, float] | None
    is_plain: bool  # neither gains by the state nor dynamics: a motor
    tendon: str = ""


@dataclass(frozen=True)
class Equality:
    kind: str  # joint, connect, weld, tendon, flex, …
    first: str
    second: str
    coefficients: tuple[float, ...]
    active: bool
    sites: tuple[str, ...] = ()  # two, where it is between sites


@dataclass(frozen=True)
class TendonSpring:
    """A tendon between two sites that is nothing but a spring."""

    sites: tuple[str, str]
    stiffness: float
    lengths: tuple[float, float]  # between which it does not pull; −1: that at the springrefs of all joints


@dataclass(frozen=True)
class Tendon:
    name: str
    pulls: str  # what makes it act on joints: "stiffness", …; "" if it does not
    spring: TendonSpring | None = None


@dataclass(frozen=True)
class Frame:
    """Frame of a site in its body, or of a body in the world at the references of all joints."""

    body: int
    p: np.ndarray
    quaternion: np.ndarray  # w x y z
    R: np.ndarray

    def out(self, p: Sequence[float] | np.ndarray) -> np.ndarray:
        """A point of the frame in the outer one."""
        return np.asarray(self.p + self.R @ np.asarray(p, dtype=float))

    def into(self, p: np.ndarray) -> np.ndarray:
        """A point of the outer frame in this one."""
        return np.asarray(self.R.T @ (p - self.p))

    def turned_in(self, other: Frame) -> list[float]:
        """The quaternion of this frame in the other one."""
        w, x, y, z = other.quaternion * (1, -1, -1, -1)
        left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
        return [float(v) for v in left @ self.quaternion]


@dataclass
class Spec:
    """A compiled model, and the entries as written."""

    mujoco: Any
    model: Any
    bodies: list[dict[str, list[float]]]  # as written, by number
    axes: list[list[float]]
    actuators: list[Actuator]
    equalities: list[Equality]
    tendons: list[Tendon]
    tendon_joints: list[list[str]] = field(default_factory=list)  # by tendon

    @property
    def driven_joints(self) -> set[str]:
        """The joints that an actuator acts on, also by a tendon."""
        tendons = {x.tendon for x in self.actuators if x.tendon}
        pulled = zip(self.tendons, self.tendon_joints, strict=False)
        by_tendon = {joint for tendon, joints in pulled if tendon.name in tendons for joint in joints}
        return by_tendon | {x.joint for x in self.actuators if x.joint}

    @cached_property
    def _postures(self) -> dict[str, Any]:
        """All joints at their references, or at those of their springs."""
        found = {}
        for key in ("qpos0", "qpos_spring"):
            found[key] = self.mujoco.MjData(self.model)
            found[key].qpos[:] = getattr(self.model, key)
            self.mujoco.mj_kinematics(self.model, found[key])
        return found

    def body_frame(self, body: int, posture: Literal["qpos0", "qpos_spring"] = "qpos0") -> Frame:
        """Frame of a body in the world, all joints at their references (or at those of their springs)."""
        data = self._postures[posture]
        R = np.array(data.xmat[body]).reshape(3, 3)
        return Frame(body, np.array(data.xpos[body]), np.array(data.xquat[body]), R)

    def site(self, name: str) -> Frame | None:
        """Frame of a site in its body; None where there is none of this name."""
        model = self.model
        i = self.mujoco.mj_name2id(model, self.mujoco.mjtObj.mjOBJ_SITE, name)
        if i < 0:
            return None
        R = np.zeros(9)
        self.mujoco.mju_quat2Mat(R, model.site_quat[i])
        p, quaternion = np.array(model.site_pos[i]), np.array(model.site_quat[i])
        return Frame(int(model.site_bodyid[i]), p, quaternion, R.reshape(3, 3))

    def full_inertia(self, body: int) -> list[float] | None:
        """fullinertia as written, if the body has it and the compiler left it alone."""
        full = self.bodies[body]["fullinertia"]
        if not full or not all(map(math.isfinite, full)):
            return None
        moments = [float(x) for x in self.model.body_inertia[body]]
        trace, square = sum(full[:3]), sum(x * x for x in full[:3]) + 2 * sum(x * x for x in full[3:])
        close = abs(sum(moments) - trace) <= _SAME * trace
        return full if close and abs(sum(m * m for m in moments) - square) <= _SAME * square else None

    def is_off(self, what: str) -> bool:
        """True if the file switches something off for the whole model."""
        bits = self.mujoco.mjtDisableBit
        names = {"damper": ("DAMPER", "PASSIVE"), "spring": ("SPRING", "PASSIVE")}.get(what, (what.upper(),))
        found = [int(getattr(bits, f"mjDSBL_{name}", 0)) for name in names]
        return any(int(self.model.opt.disableflags) & bit for bit in found)


def compiled(document: MjcfSource, source: str) -> Spec:
    """Read a document with mujoco; one error that says what is wrong."""
    try:
        import mujoco
    except ImportError:
        raise DescriptionError(
            f"{source}: reading MJCF needs the package mujoco; install it with: pip install 'armdyn[mjcf]'"
        ) from None
    try:
        whole = mujoco.MjSpec.from_string(document.text())
        actuators = [_actuator(mujoco, whole, x) for x in whole.actuators]
        equalities = [_equality(mujoco, document, x) for x in whole.equalities]
        pairs = document.tendon_sites()
        tendons = [_tendon(x, pairs[i] if i < len(pairs) else None) for i, x in enumerate(whole.tendons)]
        spec = mujoco.MjSpec.from_string(document.text(whole=False))
        bodies = _depth_first(spec)
        _strip(mujoco, spec, bodies, document, source)
        written = [_body_as_written(body) for body, _ in bodies]
        axes = [[float(x) for x in joint.axis] for body, _ in bodies for joint in body.joints]
        model = spec.compile()
    except DescriptionError:
        raise
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise DescriptionError(f"{source}: {_reason(error, bool(document.included))}") from None
    if len(written) != model.nbody or len(axes) != model.njnt:
        raise DescriptionError(f"{source}: bodies that the compiler makes or removes cannot be read")
    joints = document.tendon_joints()
    return Spec(mujoco, model, written, axes, actuators, equalities, tendons, joints)


def _reason(error: Exception, unsure_of_lines: bool) -> str:
    """MuJoCo's message in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"\b(XML )?Error: ", "", one_line("; ".join(lines)))
    return f"MuJoCo refuses it: {_LINE.sub('', text) if unsure_of_lines else text}"


def _depth_first(spec: Any) -> list[tuple[Any, bool]]:
    """The bodies in the order of their numbers, each with whether it moves."""
    found: list[tuple[Any, bool]] = []
    left = [(spec.worldbody, False)]
    while left:
        body, moves = left.pop()
        moves = moves or bool(len(body.joints))
        found.append((body, moves))
        left += [(child, moves) for child in reversed(list(body.bodies))]
    return found


def _body_as_written(body: Any) -> dict[str, list[float]]:
    full = list(map(float, body.fullinertia)) if body.explicitinertial else []
    quaternions = {key: [float(x) for x in getattr(body, key)] for key in ("quat", "iquat")}
    return {**quaternions, "fullinertia": full}


def _strip(mujoco: Any, spec: Any, bodies: list[tuple[Any, bool]], document: MjcfSource, source: str) -> None:
    """Delete what does not shape the motion, and refuse to lose the mass of a mesh."""
    if sum(len(body.geoms) for body, _ in bodies) > _MOST_GEOMS:
        raise DescriptionError(f"{source}: more than {_MOST_GEOMS} geoms in bodies without <inertial>")
    for body, moves in bodies:
        for geom in list(body.geoms):
            if not moves or not _gives_inertia(mujoco, spec, body, geom):
                _delete(spec, geom)
            elif _is_loaded(mujoco, geom):
                reason = (
                    f"body {quoted(body.name)}: its mass comes from a mesh, and meshes are not loaded; "
                    "give it <inertial> (MuJoCo saves a compiled model with it)"
                )
                element = document.element("body", body.name) if body.name else None
                raise element.error(reason) if element else DescriptionError(f"{source}: {reason}")


def _gives_inertia(mujoco: Any, spec: Any, body: Any, geom: Any) -> bool:
    """True if MuJoCo computes mass or inertia from a geom."""
    rule = mujoco.mjtInertiaFromGeom
    asked = spec.compiler.inertiafromgeom
    if asked == rule.mjINERTIAFROMGEOM_FALSE:
        return False
    if asked == rule.mjINERTIAFROMGEOM_AUTO and body.explicitinertial:
        return False
    low, high = spec.compiler.inertiagrouprange
    if not low <= geom.group <= high:
        return False
    mass = float(geom.mass)
    return float(geom.density) != 0 if math.isnan(mass) else mass != 0


def _is_loaded(mujoco: Any, geom: Any) -> bool:
    kinds = mujoco.mjtGeom
    loaded = (kinds.mjGEOM_MESH, kinds.mjGEOM_HFIELD, kinds.mjGEOM_SDF)
    return geom.type in loaded or bool(geom.meshname) or bool(geom.hfieldname)


def _delete(spec: Any, x: Any) -> None:
    """Delete an element, by the function that the installed version has."""
    if hasattr(spec, "delete"):
        spec.delete(x)
    else:
        x.delete()


def _actuator(mujoco: Any, spec: Any, x: Any) -> Actuator:
    kinds = mujoco.mjtTrn
    on_joint = x.trntype in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT)
    low, high = (float(v) for v in x.forcerange)
    auto = x.forcelimited == mujoco.mjtLimited.mjLIMITED_AUTO
    limited = (spec.compiler.autolimits and low < high) if auto else bool(int(x.forcelimited))
    plain = (
        x.gaintype == mujoco.mjtGain.mjGAIN_FIXED
        and x.biastype == mujoco.mjtBias.mjBIAS_NONE
        and x.dyntype == mujoco.mjtDyn.mjDYN_NONE
    )
    return Actuator(
        joint=x.target if on_joint else "",
        name=x.name,
        gear=float(x.gear[0]),
        armature=float(getattr(x, "armature", 0.0)),  # since MuJoCo 4
        damping=next(numbers_of(getattr(x, "damping", 0.0))),
        force=(low, high) if limited else None,
        is_plain=plain,
        tendon=x.target if x.trntype == kinds.mjTRN_TENDON else "",
    )


def _equality(mujoco: Any, document: MjcfSource, x: Any) -> Equality:
    kind = mujoco.mjtEq(x.type).name.removeprefix("mjEQ_").lower()
    first, second = x.name1, x.name2
    sites: tuple[str, ...] = ()
    if kind in ("connect", "weld") and x.objtype == mujoco.mjtObj.mjOBJ_SITE:
        sites = (first, second)
        first, second = document.body_of_site(first), document.body_of_site(second)
    return Equality(kind, first, second, tuple(float(v) for v in x.data), bool(x.active), sites)


def _tendon(x: Any, sites: tuple[str, str] | None) -> Tendon:
    keys = ("stiffness", "damping", "frictionloss", "armature")
    pulls = [key for key in keys if any(numbers_of(getattr(x, key, 0.0)))]
    spring = None
    stiffness, *higher = numbers_of(x.stiffness)
    if sites is not None and pulls == ["stiffness"] and not any(higher):
        low, high = (float(v) for v in x.springlength)
        spring = TendonSpring(sites, stiffness, (low, high))
    return Tendon(x.name, ", ".join(pulls), spring)


def numbers_of(value: Any) -> Iterator[float]:
    """One number, or several in versions where it may be a polynomial."""
    if hasattr(value, "__len__"):
        yield from (float(x) for x in value)
    else:
        yield float(value)
