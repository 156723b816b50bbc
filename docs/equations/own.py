"""What checks compare with: mechanics written down again, from descriptions, in NumPy and SymPy.

`Arm` is a chain in the frames of the book, with rotors: positions, velocities and forces of all its bodies in
the base frame. `close` compares numbers. `slope` differentiates by differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.linalg import norm

from armdyn import Robot

# ---- numbers -----------------------------------------------------------------------------------------------


def close(found: Any, expected: Any, tolerance: float = 1e-8) -> None:
    """Equal arrays, up to `tolerance` of the largest entry."""
    found, expected = numbers(found), numbers(expected)
    assert found.shape == expected.shape, f"shapes {found.shape} and {expected.shape}"
    size = max(np.abs(expected).max(initial=0.0), 1e-6)
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * size, f"{found}\nis not\n{expected}"


def numbers(x: Any, symbols: dict[str, float] | None = None) -> np.ndarray:
    """Nested numbers, exact ones among them, as floats."""

    def number(entry: Any) -> float:
        exact = hasattr(entry, "value")
        return float(entry.value(symbols) if exact and symbols else entry.value() if exact else entry)

    return np.vectorize(number, otypes=[float])(x)


def slope(f: Callable[[float], Any], step: float = 0.005) -> np.ndarray:
    """f'(0) by differences of sixth order."""
    steps = [np.asarray(f(k * step)) - np.asarray(f(-k * step)) for k in (1, 2, 3)]
    return (45 * steps[0] - 9 * steps[1] + steps[2]) / (60 * step)


def bend(f: Callable[[float], Any], step: float = 0.02) -> np.ndarray:
    """f''(0) by differences of sixth order."""
    sums = [np.asarray(f(k * step)) + np.asarray(f(-k * step)) for k in (1, 2, 3)]
    return (270 * sums[0] - 27 * sums[1] + 2 * sums[2] - 490 * np.asarray(f(0))) / (180 * step**2)


def gradient(f: Callable[[np.ndarray], Any], x: np.ndarray) -> np.ndarray:
    """∂f/∂x, the index of x last."""
    return np.stack([slope(lambda t, e=e: f(x + t * e)) for e in np.eye(len(x))], axis=-1)


def in_time(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray | float = 0.0) -> Callable[[float], np.ndarray]:
    """A motion through a state."""
    return lambda t: q + qd * t + qdd * t**2 / 2


def S(v: Sequence[float]) -> np.ndarray:
    """The matrix of the vector product."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


# ---- solids ------------------------------------------------------------------------------------------------


def box_points(mass: float, size: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Masses and places of points that stand for a box: Gauss's rule, exact for second moments."""
    node = np.array([-1, 1]) / np.sqrt(3) / 2
    places = np.stack(np.meshgrid(*(node * s for s in size), indexing="ij"), -1).reshape(-1, 3)
    return np.full(len(places), mass / len(places)), places


def tensor(masses: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Σ m SᵀS(r) about the origin."""
    return np.sum([m * S(r).T @ S(r) for m, r in zip(masses, places, strict=True)], axis=0)


# ---- chains ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rotor:
    carrier: int  # 0: the base
    place: np.ndarray  # in the carrier's frame
    axis: np.ndarray
    gear: float
    mass: float
    axial: float
    transverse: float

    @property
    def tensor(self) -> np.ndarray:
        """In the carrier's axes (7.66)."""
        z = np.outer(self.axis, self.axis)
        return self.axial * z + self.transverse * (np.eye(3) - z)


@dataclass(frozen=True)
class Body:
    mass: float
    com: np.ndarray  # in the link's frame
    tensor: np.ndarray  # about the centre of mass, link axes


class Chain:
    """A chain as its description has it. Links are numbered from 1, the base is 0, as in the book."""

    convention: str

    def __init__(self, robot: Robot) -> None:
        self.table = robot.to_dict()
        assert self.table["convention"] == self.convention
        self.values = {**self.table.get("symbols", {}), "pi": np.pi}
        self.links = self.table["link"]
        self.n = len(self.links)
        self.g0 = self._array(self.table["gravity"])
        self.bodies = [self._body(link) for link in self.links]

    def _number(self, x: Any) -> float:
        return float(eval(x, {}, self.values) if isinstance(x, str) else x)

    def _array(self, entries: Sequence[Any]) -> np.ndarray:
        return np.array([self._number(x) for x in entries])

    def _body(self, link: dict[str, Any]) -> Body:
        given = link.get("inertia", {})
        xx, yy, zz, xy, xz, yz = (self._number(given.get(k, 0)) for k in ("xx", "yy", "zz", "xy", "xz", "yz"))
        com = self._array(link.get("com", [0, 0, 0]))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Body(self._number(link.get("mass", 0)), com, tensor)

    def slides(self, i: int) -> bool:
        """Whether joint i is prismatic."""
        return bool(self.links[i - 1]["joint"] == "prismatic")

    def row(self, i: int, q: np.ndarray) -> tuple[float, float, float, float]:
        """a, α, d, ϑ of link i at a posture."""
        a, alpha, d, theta = (self._number(self.links[i - 1][key]) for key in ("a", "alpha", "d", "theta"))
        return (a, alpha, d + q[i - 1], theta) if self.slides(i) else (a, alpha, d, theta + q[i - 1])

    def named(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, float]:
        """Numbers for the names in formulas: c2, s23, qd1, symbols."""
        found = dict(self.values)
        for i in range(self.n):
            found |= {f"q{i + 1}": q[i], f"qd{i + 1}": qd[i], f"qdd{i + 1}": qdd[i]}
            for j in range(i, self.n):
                joints = [k for k in range(i, j + 1) if not self.slides(k + 1)]
                key, angle = "".join(str(k + 1) for k in joints), sum(q[k] for k in joints)
                found |= {f"c{key}": np.cos(angle), f"s{key}": np.sin(angle)}
        return found


class Arm(Chain):
    """A chain in standard Denavit–Hartenberg frames with rotors, each motor on the link before its joint."""

    convention = "dh"

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        assert self.table.get("rotors") != "reflected"
        self.rotors = [self._rotor(i, link.get("motor", {})) for i, link in enumerate(self.links)]
        if self.table.get("rotors") == "none":
            self.rotors = [replace(rotor, mass=0.0, axial=0.0, transverse=0.0) for rotor in self.rotors]
        self.tool = self._array(self.table.get("tool", {}).get("xyz", [0, 0, 0]))

    def _rotor(self, i: int, motor: dict[str, Any]) -> Rotor:
        assert "carrier" not in motor
        assert "coupling" not in motor
        given = motor.get("inertia", 0)
        both = given if isinstance(given, dict) else {"axial": given}
        axis = self._array(motor.get("axis", [0, 0, 1]))
        scalars = (motor.get("gear", 1), motor.get("mass", 0), both["axial"], both.get("transverse", 0))
        place = self._array(motor.get("position", [0, 0, 0]))
        return Rotor(i, place, axis / norm(axis), *(self._number(x) for x in scalars))

    # -- where everything is, base frame

    def frames(self, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """R_i and p_i for i = 0 … n."""
        R, p = np.eye(3), np.zeros(3)
        found = [(R, p)]
        for i in range(1, self.n + 1):
            a, alpha, d, theta = self.row(i, q)
            (c, s), (ca, sa) = ((np.cos(x), np.sin(x)) for x in (theta, alpha))
            p = p + R @ [a * c, a * s, d]
            R = R @ [[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0, sa, ca]]
            found.append((R, p))
        return found

    def point(self, q: np.ndarray, i: int, r: Sequence[float]) -> np.ndarray:
        """The place of a point of link i, given in its frame."""
        R, p = self.frames(q)[i]
        return p + R @ np.asarray(r)

    def jacobian(self, q: np.ndarray, i: int, r: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """J_P and J_O of a point of link i by (7.18), (7.19)."""
        frames, at = self.frames(q), self.point(q, i, r)
        J_P, J_O = np.zeros((3, self.n)), np.zeros((3, self.n))
        for j in range(1, i + 1):
            z, p = frames[j - 1][0][:, 2], frames[j - 1][1]
            J_P[:, j - 1] = z if self.slides(j) else np.cross(z, at - p)
            J_O[:, j - 1] = 0 if self.slides(j) else z
        return J_P, J_O

    def rotor_jacobian(self, q: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
        """J_P and J_O of the rotor of joint j by (7.26), (7.29)."""
        rotor = self.rotors[j - 1]
        J_P, J_O = self.jacobian(q, rotor.carrier, rotor.place)
        J_O[:, j - 1] += rotor.gear * self.frames(q)[rotor.carrier][0] @ rotor.axis
        return J_P, J_O

    # -- energies

    def link_energy(self, q: np.ndarray, qd: np.ndarray, i: int) -> tuple[float, float]:
        """T_ℓi (7.13), velocities by differences of positions, and U_ℓi (7.34)."""
        body, (R, _) = self.bodies[i - 1], self.frames(q)[i]
        v = slope(lambda t: self.point(in_time(q, qd)(t), i, body.com))
        w = self.spin(q, qd, i)
        T = body.mass * v @ v / 2 + w @ R @ body.tensor @ R.T @ w / 2
        return T, -body.mass * self.g0 @ self.point(q, i, body.com)

    def rotor_energy(self, q: np.ndarray, qd: np.ndarray, j: int) -> tuple[float, float]:
        """T_mj (7.21) with (7.23), and U_mj (7.35)."""
        rotor = self.rotors[j - 1]
        R = self.frames(q)[rotor.carrier][0]
        v = slope(lambda t: self.point(in_time(q, qd)(t), rotor.carrier, rotor.place))
        w = self.spin(q, qd, rotor.carrier) + rotor.gear * qd[j - 1] * R @ rotor.axis
        T = rotor.mass * v @ v / 2 + w @ R @ rotor.tensor @ R.T @ w / 2
        return T, -rotor.mass * self.g0 @ self.point(q, rotor.carrier, rotor.place)

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        """T of all links and rotors (7.4)."""
        each = range(1, self.n + 1)
        return float(sum(self.link_energy(q, qd, i)[0] + self.rotor_energy(q, qd, i)[0] for i in each))

    def potential_energy(self, q: np.ndarray) -> float:
        """U of all links and rotors (7.33)."""
        each, rest = range(1, self.n + 1), np.zeros(self.n)
        return float(sum(self.link_energy(q, rest, i)[1] + self.rotor_energy(q, rest, i)[1] for i in each))

    def spin(self, q: np.ndarray, qd: np.ndarray, i: int) -> np.ndarray:
        """ω_i of Ṙ = S(ω) R, by differences."""
        rate = slope(lambda t: self.frames(in_time(q, qd)(t))[i][0]) @ self.frames(q)[i][0].T
        return np.array([rate[2, 1], rate[0, 2], rate[1, 0]])

    # -- augmented links

    def augmented(self, i: int) -> Body:
        """Link i with the rotor of joint i + 1 locked: mass, centre of mass, Ī_i, link axes (7.60)–(7.65)."""
        link, rotors = self.bodies[i - 1], [rotor for rotor in self.rotors if rotor.carrier == i]
        mass = link.mass + sum(rotor.mass for rotor in rotors)
        if not mass:
            return Body(0.0, np.zeros(3), link.tensor + sum((x.tensor for x in rotors), np.zeros((3, 3))))
        com = (link.mass * link.com + sum((x.mass * x.place for x in rotors), np.zeros(3))) / mass
        about = link.tensor + link.mass * S(link.com - com).T @ S(link.com - com)
        for rotor in rotors:
            about = about + rotor.tensor + rotor.mass * S(rotor.place - com).T @ S(rotor.place - com)
        return Body(mass, com, about)

    # -- Newton and Euler

    def accelerations(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        qdd: np.ndarray,
        base: Sequence[Any] = ([0] * 3, [0] * 3, [0] * 3),
    ) -> list[dict[str, np.ndarray]]:
        """ω, ω̇, p̈ of links 0 … n and p̈_C of the augmented ones, ω̇_m of rotors (7.93)–(7.103), base frame.

        `base` are ω_0, ω̇_0, p̈_0.
        """
        frames, (w, dw, pdd) = self.frames(q), map(np.array, base)
        found = [{"w": w, "dw": dw, "pdd": pdd, "pd": np.zeros(3)}]
        for i in range(1, self.n + 1):
            last, z, r = found[-1], frames[i - 1][0][:, 2], frames[i][1] - frames[i - 1][1]
            rate, change = qd[i - 1], qdd[i - 1]
            turn, slide = (0, 1) if self.slides(i) else (1, 0)
            w = last["w"] + turn * rate * z
            dw = last["dw"] + turn * (change * z + rate * np.cross(last["w"], z))
            pd = last["pd"] + slide * rate * z + np.cross(w, r)
            pdd = last["pdd"] + slide * (change * z + 2 * rate * np.cross(w, z))
            pdd = pdd + np.cross(dw, r) + np.cross(w, np.cross(w, r))
            arm = frames[i][0] @ self.augmented(i).com
            centre = pdd + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
            k, z_m = self.rotors[i - 1].gear, frames[i - 1][0] @ self.rotors[i - 1].axis
            dw_m = last["dw"] + k * change * z_m + k * rate * np.cross(last["w"], z_m)
            found.append({"w": w, "dw": dw, "pd": pd, "pdd": pdd, "pddC": centre, "dw_m": dw_m})
        return found

    def wrenches(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, h: np.ndarray | None = None, **base: Any
    ) -> list[dict[str, np.ndarray]]:
        """f and μ of joints 1 … n + 1 by (7.104), (7.105), base frame; [0] is of no joint."""
        frames, motion = self.frames(q), self.accelerations(q, qd, qdd, **base)
        force, moment = (np.zeros(3), np.zeros(3)) if h is None else (h[:3], h[3:])
        moment = moment + np.cross(frames[-1][0] @ self.tool, force)  # the tip is beyond the last frame
        found = [{"f": force, "mu": moment}]
        for i in range(self.n, 0, -1):
            body, R = self.augmented(i), frames[i][0]
            w, dw, r_C = motion[i]["w"], motion[i]["dw"], R @ body.com
            r, about = frames[i][1] - frames[i - 1][1], R @ body.tensor @ R.T
            f = force + body.mass * (motion[i]["pddC"] - self.g0)
            mu = -np.cross(f, r + r_C) + moment + np.cross(force, r_C) + about @ dw + np.cross(w, about @ w)
            if i < self.n:
                rotor = self.rotors[i]
                z_m, k = R @ rotor.axis, rotor.gear * rotor.axial
                mu = mu + k * qdd[i] * z_m + k * qd[i] * np.cross(w, z_m)
            force, moment = f, mu
            found.append({"f": f, "mu": mu})
        return [{}, *found[::-1]]

    def torques(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, h: np.ndarray | None = None, **base: Any
    ) -> np.ndarray:
        """τ by (7.106), friction included."""
        frames, motion = self.frames(q), self.accelerations(q, qd, qdd, **base)
        found = []
        for i, wrench in enumerate(self.wrenches(q, qd, qdd, h, **base)[1 : self.n + 1], 1):
            R, rotor = frames[i - 1][0], self.rotors[i - 1]
            pushed = wrench["f"] if self.slides(i) else wrench["mu"]
            spun = rotor.gear * rotor.axial * motion[i]["dw_m"] @ (R @ rotor.axis)
            found.append(pushed @ R[:, 2] + spun + self.friction(i, qd[i - 1]))
        return np.array(found)

    def friction(self, i: int, rate: float) -> float:
        """F_v q̇ + F_s sgn(q̇), the motor's referred to the joint."""
        link = self.links[i - 1]
        own, motor = link.get("friction", {}), link.get("motor", {}).get("friction", {})
        dry = own.get("coulomb", 0)
        levels = [self._number(x) for x in dry] if isinstance(dry, list) else [self._number(dry)] * 2
        level = levels[0] if rate > 0 else -levels[1] if isinstance(dry, list) else levels[1]
        viscous = self._number(own.get("viscous", 0))
        viscous += self.rotors[i - 1].gear ** 2 * self._number(motor.get("viscous", 0))
        return viscous * rate + level * np.sign(rate)


class Craig(Chain):
    """A chain in modified Denavit–Hartenberg frames without rotors, by Craig's iteration, in link axes."""

    convention = "mdh"

    def steps(self, i: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """R and P of frame i in frame i − 1."""
        a, alpha, d, theta = self.row(i, q)
        (c, s), (ca, sa) = ((np.cos(x), np.sin(x)) for x in (theta, alpha))
        R = np.array([[c, -s, 0], [s * ca, c * ca, -sa], [s * sa, c * sa, ca]])
        return R, np.array([a, -sa * d, ca * d])

    def outward(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[dict[str, np.ndarray]]:
        """ω, ω̇, v̇, v̇_C, F, N of links 1 … n; [0] is the base."""
        zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
        found = [{"w": zero, "dw": zero, "dv": -self.g0}]
        for i, body in enumerate(self.bodies, 1):
            (R, P), last = self.steps(i, q), found[-1]
            turn, slide = (0, 1) if self.slides(i) else (1, 0)
            w = R.T @ last["w"] + turn * qd[i - 1] * z
            dw = R.T @ last["dw"] + turn * (np.cross(R.T @ last["w"], qd[i - 1] * z) + qdd[i - 1] * z)
            dv = R.T @ (np.cross(last["dw"], P) + np.cross(last["w"], np.cross(last["w"], P)) + last["dv"])
            dv = dv + slide * (2 * np.cross(w, qd[i - 1] * z) + qdd[i - 1] * z)
            centre = np.cross(dw, body.com) + np.cross(w, np.cross(w, body.com)) + dv
            N = body.tensor @ dw + np.cross(w, body.tensor @ w)
            found.append({"w": w, "dw": dw, "dv": dv, "dv_C": centre, "F": body.mass * centre, "N": N})
        return found

    def inward(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[dict[str, np.ndarray]]:
        """f and n of joints 1 … n; [0] is of no joint."""
        motion, f, n = self.outward(q, qd, qdd), np.zeros(3), np.zeros(3)
        found: list[dict[str, np.ndarray]] = []
        for i in range(self.n, 0, -1):
            R, P = self.steps(i + 1, q) if i < self.n else (np.eye(3), np.zeros(3))
            here = motion[i]
            n = here["N"] + R @ n + np.cross(self.bodies[i - 1].com, here["F"]) + np.cross(P, R @ f)
            f = R @ f + here["F"]
            found.append({"f": f, "n": n})
        return [{}, *found[::-1]]


# ---- written recursions ------------------------------------------------------------------------------------


def written(text: str, values: dict[str, float]) -> dict[str, np.ndarray]:
    """Numbers of the vectors and torques that a recursion in text has: {"w1": array, "tau1": …}."""
    flat = re.sub(r"\n +", " ", text).split("\nWhere\n")[0]
    flat = re.sub(r" +\(\d+\.\d+\)$", "", flat, flags=re.MULTILINE)  # the numbers of equations
    found: dict[str, Any] = {}
    for name, formula in re.findall(r"^([a-zA-Z]+\d+(?:\[[xyz]\])?) = ([^=\n]+)$", flat, re.MULTILINE):
        number = eval(re.sub(r"\[(\w+)\]", r"\1", formula), {}, values)  # [m1] is a symbol
        if name.endswith("]"):
            found.setdefault(name[:-3], []).append(number)
        else:
            found[name] = number
    return {name: np.array(x, float) for name, x in found.items()}


def values_of(arm: Arm, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, float]:
    """Numbers for the names in a written recursion: those of formulas, and lCx1, Ibzz1 … of links."""
    found = arm.named(q, qd, qdd)
    for i in range(arm.n):
        body = arm.augmented(i + 1)
        found[f"m{i + 1}"] = body.mass
        found[f"Im{i + 1}"] = arm.rotors[i].axial
        for a, x in enumerate("xyz"):
            found[f"lC{x}{i + 1}"] = body.com[a]
            found[f"m{x}{i + 1}"] = body.mass * body.com[a]
            for b, y in enumerate("xyz"):
                found[f"Ib{x}{y}{i + 1}"] = found[f"I{x}{y}{i + 1}"] = body.tensor[a, b]
    return found


# ---- the planar arm in SymPy -------------------------------------------------------------------------------


@cache
def planar_symbols() -> dict[str, Any]:
    names = "q1 q2 qd1 qd2 qdd1 qdd2 g a1 a2 l1 l2 ml1 ml2 Il1 Il2 kr1 kr2 mm1 mm2 Im1 Im2"
    return {name: sympy.Symbol(name, real=True) for name in names.split()}


def rate(x: Any) -> Any:
    """d/dt of a formula in q and q̇."""
    s = planar_symbols()
    pairs = [("q1", "qd1"), ("q2", "qd2"), ("qd1", "qdd1"), ("qd2", "qdd2")]
    return sum((sympy.diff(x, s[a]) * s[b] for a, b in pairs), sympy.Integer(0))


@cache
def planar_energies() -> tuple[Any, Any]:
    """T and U of the arm of 7.3.2, from the places of its links and rotors."""
    s = planar_symbols()
    q1, q12 = s["q1"], s["q1"] + s["q2"]
    elbow = sympy.Matrix([s["a1"] * sympy.cos(q1), s["a1"] * sympy.sin(q1)])
    first = elbow * s["l1"] / s["a1"]
    second = elbow + s["l2"] * sympy.Matrix([sympy.cos(q12), sympy.sin(q12)])
    moving = [(s["ml1"], first), (s["ml2"], second), (s["mm2"], elbow)]
    turning = [
        (s["Il1"], s["qd1"]),
        (s["Il2"], s["qd1"] + s["qd2"]),
        (s["Im1"], s["kr1"] * s["qd1"]),
        (s["Im2"], s["qd1"] + s["kr2"] * s["qd2"]),
    ]
    T = sum(m * p.applyfunc(rate).dot(p.applyfunc(rate)) / 2 for m, p in moving)
    T += sum(inertia * w**2 / 2 for inertia, w in turning)
    U = sum(m * s["g"] * p[1] for m, p in moving)
    return T, U


@cache
def planar_torques() -> list[Any]:
    """d/dt ∂L/∂q̇ − ∂L/∂q."""
    s, (T, U) = planar_symbols(), planar_energies()
    return [rate(sympy.diff(T, s[f"qd{i}"])) - sympy.diff(T - U, s[f"q{i}"]) for i in (1, 2)]
