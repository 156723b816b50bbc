"""`Payload`: a body found from data, with what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.payload.estimate import Estimate
from armdyn.identification.payload.possible import is_possible, possible_body
from armdyn.model.inertia import ENTRIES, TENSOR_KEYS, Inertia

KNOWN = ("mass", "com")


@dataclass(frozen=True)
class Payload:
    """A body fixed to the tip frame (or to the frame of `link`), as `robot.with_payload` takes it.

    `entries` (10,) are m, mx, my, mz, Ixx … Izz about that frame's origin, (7.77), with their `covariance`.
    `not_shown` names those that the motion does not show: of them, first moments are zero and the tensor is
    that of a point mass. For each channel (a joint, or an axis of the sensor) `residual` is the RMS of
    what stays unexplained, and `without` that of all that was to explain: torques beside the arm's model, all
    torques where the arm was free, or readings of the sensor. `offsets` are those found beside the payload.
    """

    mass: float  # kg
    com: np.ndarray  # (3,) m
    inertia: np.ndarray | None  # (3, 3) kg m² about the centre of mass; None where it is not shown
    entries: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)
    link: str | None
    not_shown: tuple[str, ...]
    consistent: bool  # whether the body was made possible by `consistent`
    residual: np.ndarray = field(repr=False)
    without: np.ndarray = field(repr=False)
    offsets: np.ndarray = field(repr=False)
    notes: tuple[str, ...]

    @property
    def arguments(self) -> dict[str, Any]:
        """For `robot.with_payload(**payload.arguments)`."""
        found: dict[str, Any] = {"mass": self.mass, "com": [float(x) for x in self.com]}
        if self.inertia is not None:
            pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
            found["inertia"] = {
                key: float(self.inertia[i, j]) for key, (i, j) in zip(TENSOR_KEYS, pairs, strict=True)
            }
        return found | ({} if self.link is None else {"link": self.link})

    @property
    def first_moment(self) -> np.ndarray:
        """m c, (3,) [kg m]."""
        return np.asarray(self.entries[1:4])

    @property
    def standard_errors(self) -> dict[str, float]:
        """Of the ten parameters about the frame's origin; infinite for what is not shown."""
        values = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return {
            name: np.inf if name in self.not_shown else float(x)
            for name, x in zip(ENTRIES, values, strict=True)
        }

    def intervals(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """In which the ten parameters lie with this confidence, if the noise is Gaussian."""
        level = check.number("confidence", confidence)
        if not 0 < level < 1:
            raise IdentificationError(f"confidence: found {level:g}; between 0 and 1 is allowed")
        k = float(norm.ppf(0.5 + level / 2))
        errors = self.standard_errors
        return {
            name: (float(x) - k * errors[name], float(x) + k * errors[name])
            for name, x in zip(ENTRIES, self.entries, strict=True)
        }

    def text(self) -> str:
        """The payload in a few lines, with 95 % intervals."""
        errors = self.standard_errors
        lines = [f"mass {self.mass:.4g} kg{_either_side(errors['m'])}"]
        for i, (axis, c) in enumerate(zip("xyz", self.com, strict=True)):
            known = np.isfinite(errors[f"m{axis}"])
            lines.append(f"com {axis} {c:+.4f} m{_either_side(self._com_error(i) if known else np.inf)}")
        if self.inertia is None:
            lines.append("inertia: not shown by this motion; the body counts as a point")
        else:
            moments = np.linalg.eigvalsh(self.inertia)
            lines.append(f"principal moments {', '.join(f'{x:.3g}' for x in moments)} kg m²")
        return "\n".join([*lines, *self.notes])

    def _com_error(self, axis: int) -> float:
        """The standard error of a coordinate of the centre of mass, a quotient of two entries [m]."""
        slope = np.zeros(len(self.entries))
        slope[0], slope[1 + axis] = -self.com[axis] / self.mass, 1 / self.mass
        return float(np.sqrt(max(slope @ self.covariance @ slope, 0.0)))


def _either_side(error: float) -> str:
    if error <= 1e-12:
        return " (given)"
    return f" ± {1.96 * error:.2g}" if np.isfinite(error) else " (not shown)"


def payload_of(
    found: Estimate,
    link: str | None,
    known: dict[str, Any],
    consistent: bool | None,
    notes: list[str],
    offsets: np.ndarray,
) -> Payload:
    """The payload of an estimate: possible, and with what is not shown said."""
    if "m" in found.not_shown and "mass" not in known:
        raise IdentificationError(
            "the motion does not show the payload's mass: "
            'move joints that lift or accelerate it more, or give known={"mass": …}'
        )
    entries, made = found.entries, False
    if consistent is None:
        made = not is_possible(entries) and not _is_point(found)
        if made:
            notes.append("the body that fits best is not possible; the possible one that fits best is used")
    elif consistent:
        made = True
    if made:
        entries = possible_body(found, known)
    hidden = [name for name in found.not_shown if name != "m" or "mass" not in known]
    if hidden:
        notes.append(f"the motion does not show {', '.join(hidden)}")
    mass = float(entries[0])
    if mass <= 0:
        raise IdentificationError(
            f"found a payload of {mass:.3g} kg: a mass is positive; nothing is carried?"
        )
    error = float(np.sqrt(found.covariance[0, 0]))
    if mass < 3 * error:
        notes.append(f"the mass {mass:.3g} kg is less than three times its standard error {error:.2g} kg")
    body = Inertia.of([float(x) for x in entries])
    tensor = None if _is_point(found) else np.array(Inertia((1), (0, 0, 0), body.tensor_at_com).matrix, float)
    return Payload(
        mass,
        np.array(body.com, float),
        tensor,
        entries,
        found.covariance,
        link,
        found.not_shown,
        made,
        found.residual,
        found.without,
        offsets,
        tuple(notes),
    )


def _is_point(found: Estimate) -> bool:
    """Whether nothing is shown of the tensor."""
    return all(f"I{key}" in found.not_shown for key in TENSOR_KEYS)


def known_entries(known: Any) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """What a caller knows, as entries = origin + basis θ."""
    if known is not None and not isinstance(known, Mapping):
        raise IdentificationError(
            f"known: expected {{name: value}} of {', '.join(KNOWN)}, found {shown(known)}"
        )
    given = {} if known is None else dict(known)
    if wrong := sorted(set(given) - set(KNOWN)):
        raise IdentificationError(f"known: found {wrong[0]!r}; allowed: {', '.join(KNOWN)}")
    origin, basis = np.zeros(10), np.eye(10)
    if "com" in given:
        com = check.point('known["com"]', given["com"])
        basis[1:4, 0] = com
        basis = np.delete(basis, (1, 2, 3), axis=1)
    if "mass" in given:
        mass = check.positive('known["mass"]', given["mass"])
        origin = mass * basis[:, 0]
        basis = basis[:, 1:]
    return given, origin, basis
