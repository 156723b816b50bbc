"""Checks that a body can exist: the tensor about its centre of mass, exactly as the description gives it.

A model keeps tensors about the frame's origin, where a far centre of mass hides everything else. So the
parallel-axis term is taken away in fractions, and only the small difference becomes floating-point numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from armdyn.expression import Expression, ExpressionError
from armdyn.model.friction import SINGLE, TERMS, Surface, Term
from armdyn.model.inertia import TENSOR_KEYS, Inertia, tensor
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel, impossible_springs, joint_friction
from armdyn.names import quoted

TOLERANCE = 1e-6  # of the largest entry: tensors are printed with six digits or so
CRUMBS = 1e-16  # m²: a tensor of entries below mass · (10 nm)² is nothing but rounding
_FLOATS = 1e-14  # of the entries about the origin: what floating point leaves of a difference
_DIAGONAL = ("xx", "yy", "zz")


@dataclass(frozen=True)
class Central:
    """Mass and tensor about the centre of mass; None for entries that depend on a free symbol."""

    mass: float | None
    entries: dict[str, float | None]  # by TENSOR_KEYS
    tolerance: float  # error of the entries and principal moments

    @property
    def known(self) -> list[float]:
        return [x for x in self.entries.values() if x is not None]

    @property
    def is_known(self) -> bool:
        return len(self.known) == 6

    @property
    def is_zero(self) -> bool:
        """True for a point (or nothing at all)."""
        return self.is_known and all(abs(x) <= self.tolerance for x in self.known)

    @property
    def matrix(self) -> np.ndarray:
        """The tensor; needs all of its entries."""
        return np.array([[self.entry(i, j) for j in range(3)] for i in range(3)], dtype=float)

    @property
    def principal(self) -> np.ndarray:
        """The principal moments, ascending; needs all entries."""
        M = self.matrix
        scale = float(abs(M).max()) or 1.0
        return np.linalg.eigvalsh(M / scale) * scale

    def entry(self, i: int, j: int) -> float | None:
        return self.entries["xyz"[min(i, j)] + "xyz"[max(i, j)]]


def central(model: RobotModel, inertia: Inertia) -> Central:
    """A body about its centre of mass.

    Free symbols get random values, several times; entries that stay the same do not depend on them.
    """
    return _central(model.symbols, model.derived, inertia)


@lru_cache(256)
def _central(symbols: tuple[tuple[str, Expression | None], ...], derived: bool, inertia: Inertia) -> Central:
    given = {name: value for name, value in symbols if value is not None}
    parts = [Expression.of(x) for x in (inertia.mass, *inertia.moment, *inertia.tensor)]
    free = sorted({name for x in parts for name in x.symbols()} - given.keys())
    samples = []
    for seed in range(3 if free else 1):
        rng = random.Random(seed)
        values = {name: Expression.of(Fraction(rng.randint(3000, 10006), 10007)) for name in free}
        samples.append(_about_com([x.substitute(given | values) for x in parts]))
    mass, *entries = (_common(xs) for xs in zip(*(numbers for numbers, _, _ in samples), strict=True))
    known = [abs(x) for x in entries if x is not None]
    largest, crumb = max(known, default=0.0), CRUMBS * abs(mass or 0.0)
    tolerance = crumb if largest <= crumb else TOLERANCE * largest
    if derived or not all(exact for _, _, exact in samples):
        tolerance += _FLOATS * max(about_origin for _, about_origin, _ in samples)
    return Central(mass, dict(zip(TENSOR_KEYS, entries, strict=True)), tolerance)


def _about_com(parts: list[Expression]) -> tuple[list[float], float, bool]:
    """Mass and entries about the centre of mass, the largest about the origin, whether all are rational."""
    fractions = [x.number for x in parts]
    exact = [x for x in fractions if x is not None]
    values: Sequence[Fraction] | Sequence[float]
    values = exact if len(exact) == len(parts) else [x.value() for x in parts]
    mass, x, y, z, *about_origin = values
    if mass:
        shift = tensor((y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y))
        about_com = [entry - s / mass for entry, s in zip(about_origin, shift, strict=True)]
    else:
        about_com = list(about_origin)
    try:
        largest = max(abs(float(v)) for v in about_origin)
        found = [float(v) for v in (mass, *about_com)]
    except OverflowError:
        largest, found = math.inf, []
    if not all(map(math.isfinite, (largest, *found))):
        raise ExpressionError("its value is larger than 1e300")
    return found, largest, len(exact) == len(parts)


def _common(samples: Sequence[float]) -> float | None:
    """The value all samples share, if they do."""
    first = samples[0]
    scale = max(map(abs, samples))
    return first if all(abs(x - first) <= 1e-12 * scale for x in samples[1:]) else None


# ---- impossible bodies -------------------------------------------------------------------------------------


def impossible_bodies(model: RobotModel) -> Iterator[str]:
    """Negative masses, moments, friction, stiffness: refused in files, allowed in identified parameters."""
    for link in model.links:
        where = f"link {quoted(link.name)}"
        try:
            problems = list(impossible_inertia(model, link.inertia))
        except ExpressionError as error:
            problems = [f"mass, com and inertia: {error}"]
        for problem in problems:
            yield f"{where}: {problem}"
        for problem in _negative_entries(model, link):
            yield f"{where}: {problem}"
    yield from impossible_springs(model)


def impossible_inertia(model: RobotModel, inertia: Inertia) -> Iterator[str]:
    """Refuse a negative mass or a negative principal moment.

    A moment counts as negative below −1e-6 of the largest entry: what is less is rounding. So is a tensor
    none of whose entries exceeds mass·(10 nm)².
    """
    for x in (*inertia.moment, *inertia.tensor):
        model.value(x)  # about the origin, as the algorithms use it: refuses numbers that overflow
    body = central(model, inertia)
    if body.mass is not None and body.mass < 0:
        yield f"mass: found {body.mass:g}; a mass is zero or positive"
    if body.mass == 0 and any(model.value(x) for x in inertia.moment):
        found = ", ".join(str(Expression.of(x)) for x in inertia.moment)
        yield f"first_moment: found [{found}], but the mass is 0"
    if body.is_known:
        moments = body.principal
        if moments[0] < -body.tolerance:
            yield f"inertia: principal moments {_listed(moments)}; none may be negative"
    elif entries := _negative_block(body):
        found = ", ".join(f"{key} = {body.entries[key]:g}" for key in entries)
        reason = "whatever the free symbols are, a principal moment is negative; none may be negative"
        yield f"inertia: {found}: {reason}"


def broken_triangle(body: Central) -> str | None:
    """Words for principal moments that break the triangle inequality, which every real body keeps; else None.

    In any axes the inequality says that ½ tr(I) 1 − I, the second moments of the mass, has no negative
    principal value: the largest diagonal entry may not exceed the sum of the others, nor a product of inertia
    half of the moment about the third axis.
    """
    rule = "break the triangle inequality: the largest may not exceed the sum of the others"
    if body.is_known:
        moments = body.principal
        broken = moments[2] > moments[0] + moments[1] + body.tolerance
        return f"principal moments {' '.join(f'{m:.6g}' for m in moments)} {rule}" if broken else None
    diagonal = [x for x in (body.entries[key] for key in _DIAGONAL) if x is not None]
    if len(diagonal) == 3 and 2 * max(diagonal) > sum(diagonal) + body.tolerance:
        return f"moments {' '.join(f'{m:.6g}' for m in diagonal)} {rule}"
    for key, opposite in (("xy", "zz"), ("xz", "yy"), ("yz", "xx")):
        product, moment = body.entries[key], body.entries[opposite]
        if product is None or moment is None:
            continue
        allowed = moment / 2
        if len(diagonal) == 3:
            others = [
                sum(diagonal) / 2 - moment_k
                for k, moment_k in zip(_DIAGONAL, diagonal, strict=True)
                if k != opposite
            ]
            allowed = math.sqrt(max(others[0], 0.0) * max(others[1], 0.0))
        if abs(product) > allowed + body.tolerance:
            return (
                f"inertia: {key} = {product:.6g} breaks the triangle inequality: "
                f"beside these moments its size may not exceed {allowed:.6g}"
            )
    return None


def _negative_block(body: Central) -> tuple[str, ...]:
    """Entries without free symbols that make a principal moment negative; empty if there are none."""
    for key in _DIAGONAL:
        x = body.entries[key]
        if x is not None and x < -body.tolerance:
            return (key,)
    for key in ("xy", "xz", "yz"):
        a, product, b = body.entries[2 * key[0]], body.entries[key], body.entries[2 * key[1]]
        if product is None or abs(product) <= body.tolerance:
            continue
        if a is not None and b is not None:
            if np.linalg.eigvalsh([[a, product], [product, b]])[0] < -body.tolerance:
                return (2 * key[0], key, 2 * key[1])
        else:  # beside a moment of zero there is no product of inertia
            zero = [k for k, x in ((2 * key[0], a), (2 * key[1], b)) if x is not None and x <= body.tolerance]
            if zero:
                return (zero[0], key)
    return ()


def _listed(moments: np.ndarray) -> str:
    return ", ".join(f"{m:g}" for m in moments)


def driving_friction(model: RobotModel, link: Link) -> str | None:
    """Words for the speed from which on friction drives the joint, as a negative Stribeck or cubic term can.

    Looked at up to the joint's velocity limit; where there is none, at all speeds. Offsets and load friction
    do not count.
    """
    counted = {name: x for name, x in TERMS.items() if not (x.is_constant or x.is_loaded)}
    found = {name: model.value(x) for name, x in joint_friction(model, link).items()}
    velocity, limit = model.value(link.friction.stribeck_velocity), model.value(link.limits.velocity or 0)
    width = model.value(link.friction.width)
    known = {name: x for name, x in found.items() if x is not None}
    if len(known) < len(found) or velocity is None or limit is None or width is None:
        return None
    free = {name: known[name] for name, term in counted.items() if not term.brakes and term.is_curved}
    if all(x >= 0 for x in free.values()):
        return None
    highest = limit if link.limits.velocity is not None else 10 * velocity + _decided(known, counted, free)
    near = (min(4 * x, highest) for x in (velocity, width))
    v = np.sort(np.concatenate([np.linspace(0, x, 2001) for x in (highest, *near)]))
    surface = Surface(0, (), stribeck_velocity=velocity, width=width)
    surface = surface.with_coefficients({x: known[x] for x in counted})
    ways = (s * np.asarray(surface.torque(s * v, None if width else s)) for s in (1.0, -1.0))
    braking = np.minimum(*ways)
    drives = np.flatnonzero(braking < -1e-9 * max(abs(x) for x in known.values()))
    if not drives.size:
        return None
    unit = "rad/s" if link.joint == "revolute" else "m/s"
    speed = v[drives[0]]
    since = f"above {speed:.3g} {unit}" if speed > 0 else "as soon as it moves"
    keys = {"stribeck": "stribeck.level"}
    given = " and ".join(f"{keys.get(name, name)} = {x:g}" for name, x in free.items())
    return (
        f"friction drives the joint {since} instead of braking it (the sum of its terms, {given} among them)"
    )


def _decided(known: dict[str, float], counted: dict[str, Term], free: dict[str, float]) -> float:
    """A speed beyond which the highest power of those below zero is more than all lower ones together."""
    powers = [counted[name].power for name, x in free.items() if x < 0]
    top = max(powers)
    size = -sum(x for name, x in free.items() if counted[name].power == top)
    speed = 0.0
    for lower in {term.power for term in counted.values() if term.power < top} if size > 0 else ():
        sizes = sum(abs(known[name]) for name, term in counted.items() if term.power == lower)
        speed += 2 * (sizes / size) ** float(1 / (top - lower))
    return speed


def _negative_entries(model: RobotModel, link: Link) -> Iterator[str]:
    """Masses and inertias of the motor, and friction that drives instead of braking."""
    frictions = [("friction", link.friction)]
    entries: list[tuple[str, Expression]] = []
    if link.motor is not None:
        motor = link.motor
        frictions.append(("motor.friction", motor.friction))
        entries += [("motor.mass", motor.mass), ("motor.inertia", motor.axial)]
        entries += [("motor.inertia", motor.transverse)]
    pairs = [(f"{key}.coulomb", friction.coulomb) for key, friction in frictions]
    braking = [name for name in SINGLE if TERMS[name].brakes]
    entries += [(f"{key}.{name}", friction[name]) for key, friction in frictions for name in braking]
    for key, pair in pairs:
        forward, backward = (model.value(x) for x in pair)
        if (forward or 0) < 0 or (backward or 0) > 0:
            found = ", ".join(
                str(x) if v is None else f"{v:g}" for x, v in zip(pair, (forward, backward), strict=True)
            )
            yield (
                f"{key}: found [{found}]; the pair is torque at positive and at negative speed: "
                "the first is not negative and the second not positive"
            )
    for key, value in entries:
        x = model.value(value)
        if x is not None and x < 0:
            yield f"{key}: found {x:g}; zero or positive is allowed"
