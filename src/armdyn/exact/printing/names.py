"""Names of generators: letters with accents and subscripts, and the order factors come in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from armdyn.exact.basis import is_short
from armdyn.expression import Expression
from armdyn.model.parameters import KINDS
from armdyn.model.robot_model import RobotModel

_GREEK = frozenset(
    re.findall(
        r"\w+",
        """
        alpha beta gamma delta epsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau
        phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
        """,
    )
)
_PARAMETER = re.compile(rf"\[({'|'.join(KINDS)}|lC[xyz]|Ib[xyz]{{2}})(\d+)\]")
_NUMBER = re.compile(r"\d+")
_JOINT = re.compile(r"(q|qd|qdd|sgn|sgnm|bell|tanh|absr)(\d+)(?:_to_\d+|(?:_\d+)*)")
_SYMBOL = re.compile(
    r"(" + "|".join(sorted(_GREEK - {"pi"}, key=len, reverse=True)) + r"|pi(?![a-z])|[A-Za-z])_?(\w*)"
)
_WORDS = ("roll", "pitch", "yaw")  # names that are no letter with a subscript


@dataclass(frozen=True)
class Glyph:
    """A letter with its accent, its subscript and its superscript, before it is spelled in any style."""

    head: str  # a letter, the name of a Greek one, "ell", "partial"; any longer word stands upright
    sub: tuple[str | Glyph, ...] = ()
    accent: str = ""  # "dot", "ddot", "hat", "bar"
    sup: tuple[str | Glyph, ...] = ()


def is_greek(head: str) -> bool:
    return head in _GREEK


def symbol_glyph(name: str) -> Glyph:
    """ml1 -> m with subscript ℓ_1, kr1 -> k with r1, I2xx -> I with 2xx, alpha1 -> α with 1, a1p with 1'.

    A p behind the last digit is a prime, pp are two.
    """
    match = _SYMBOL.fullmatch(name)
    if not match or name in _WORDS:
        return Glyph(name)
    base, rest = match.groups()
    head = "ell" if base == "l" else base
    if primed := re.fullmatch(r"(.*\d)(p+)", rest):
        rest = primed[1] + "'" * len(primed[2])
    inner = re.fullmatch(r"([lm])_?(\d+'*)", rest)
    if inner:
        return Glyph(head, (Glyph(inner[1].replace("l", "ell"), (inner[2],)),))
    return Glyph(head, (rest.replace("_", ","),) if rest else ())


def free_letter(symbols: Iterable[str]) -> str:
    """x, or the next of y, z, u, xx, xxx … that with a number is no symbol; x1 and x_1 look the same."""
    taken = {name.rstrip("0123456789").removesuffix("_") for name in symbols}
    letters: tuple[str, ...] = (*"xyzu", *("x" * k for k in range(2, len(taken) + 3)))
    return next(letter for letter in letters if letter not in taken)


def parameter_glyph(name: str) -> Glyph | None:
    """[Ixx2] -> Î with 2xx: the augmented link's parameters of (7.77); [lCx2], [Ibzz2] as in 7.5.3."""
    match = _PARAMETER.fullmatch(name)
    if not match:
        return None
    kind, joint = match.groups()
    if kind == "m":
        return Glyph("m", (joint,), "hat")
    if kind.startswith("m"):
        return Glyph("h", (joint + kind[1],), "hat")
    if kind.startswith("lC"):
        return Glyph("ell", (Glyph("C", (joint,)), kind[2]))
    if kind.startswith("Ib"):
        return Glyph("I", (joint + kind[2:],), "bar")
    if kind in ("Im", "Imi"):
        return Glyph("I", (Glyph(kind[-1], (joint,)),))
    if kind.startswith("I"):
        return Glyph("I", (joint + kind[1:],), "hat")
    return Glyph(kind[0], (kind[1:] + joint,))


@dataclass(frozen=True)
class Roles:
    """Roles of the symbols of a description: they decide the order of factors and what is collected."""

    gears: frozenset[str]
    inertias: frozenset[str]
    masses: frozenset[str]
    gravity: frozenset[str]
    order: dict[str, int]

    @staticmethod
    def of(model: RobotModel) -> Roles:
        def names(*entries: object) -> frozenset[str]:
            return frozenset().union(*(x.symbols() for x in entries if isinstance(x, Expression)))

        motors = [link.motor for link in model.links if link.motor]
        stiffness = [link.spring.stiffness for link in model.links]
        stiffness += [spring.stiffness for spring in model.springs]
        masses = names(*(link.inertia.mass for link in model.links), *(m.mass for m in motors))
        tensors = _without(masses, (x for link in model.links for x in link.inertia.tensor))
        lengths = names(*(x for link in model.links for T in (link.before, link.after) for x in T.p))
        rotor = names(*(m.axial for m in motors), *(m.transverse for m in motors))
        moments = names(*(x for link in model.links for x in link.inertia.moment))
        return Roles(
            gears=names(*(m.gear for m in motors), *(k for m in motors for _, k in m.coupling)),
            inertias=(tensors - moments - masses - lengths) | rotor,
            masses=masses | names(*stiffness),
            gravity=names(*model.gravity),
            order=_order(model, names),
        )

    def rank(self, name: str) -> tuple[int, int, str]:
        """Rank of a factor in a product: gears, inertias and masses, lengths, gravity, then motion."""
        joint = _JOINT.fullmatch(name)
        if joint:
            kinds = {"q": 6, "absr": 7, "bell": 7, "sgn": 8, "tanh": 8, "sgnm": 8, "qd": 8, "qdd": 9}
            return (kinds[joint[1]], int(joint[2]), _NUMBER.sub(lambda m: m[0].zfill(3), name))
        plain = name.removeprefix("1/")
        order = self.order.get(plain, -1)
        for kind, symbols in ((1, self.gears), (2, self.inertias), (3, self.masses), (5, self.gravity)):
            if plain in symbols:
                return (kind, order, name)
        if name.startswith("#"):  # a named part, by its number
            return (2, int(name[1:]), "")
        return (2 if name.startswith("[") else 4, order, name)


def _without(masses: frozenset[str], entries: Iterable[object]) -> frozenset[str]:
    """Symbols of the terms that have no mass: inertias, and not the lengths of a solid."""
    terms = (Expression({m: c}) for x in entries if isinstance(x, Expression) for m, c in x.terms)
    return frozenset().union(*(x.symbols() for x in terms if not masses & x.symbols()))


def _order(model: RobotModel, names: Callable[..., frozenset[str]]) -> dict[str, int]:
    """The order of the book's sums: link by link its inertia, its mass, its motor; then other symbols."""
    walk: list[str] = []
    for link in model.links:
        mass, moment = names(link.inertia.mass), names(*link.inertia.moment)
        motor = link.motor
        rotor = [names(motor.axial), names(motor.transverse), names(motor.mass)] if motor else []
        for group in (names(*link.inertia.tensor) - moment - mass, mass, *rotor):
            walk += sorted(group)
    walk += [name for name, _ in model.symbols]
    return {name: i for i, name in reversed(list(enumerate(walk)))}


def number_text(x: Fraction, decimals: bool | None = None) -> str:
    """Whole numbers as they are; others as fractions, or as decimals to 12 digits; None: as this one reads.

    A fraction of long numbers is a decimal in any case.
    """
    if x.denominator == 1 and abs(x) < 10**12:
        return str(x.numerator)
    decimals = not is_short(x) if decimals is None else decimals
    if not decimals and x.denominator < 10**6 and abs(x.numerator) < 10**6:
        return f"{x.numerator}/{x.denominator}"
    return f"{float(x):.12g}"
