"""Rates of sums of angles: q̇_2 + … + q̇_7 is written qd2_to_7."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from armdyn.exact.printing.collecting import Term

Speeds = dict[int, Fraction]  # by joint, the coefficient of its rate


def in_rates(terms: list[Term], summed: Sequence[tuple[int, ...]]) -> list[Term]:
    """Terms linear in velocities, of which qd5 stands for q̇_1 + … + q̇_5 where that is `summed`.

    Pairs φ̇_b − φ̇_a are the rate of what lies between; what is left is the rate of a sum from the start.
    """
    groups: dict[tuple[object, ...], tuple[Term, Speeds]] = {}
    for term in terms:
        (motion,) = (name for name, _ in term.factors if name.startswith("qd"))
        constants = tuple(f for f in term.factors if f[0] != motion)
        _, speeds = groups.setdefault((constants, term.trig), (Term(Fraction(1), constants, term.trig), {}))
        joint = int(motion[2:]) - 1
        speeds[joint] = speeds[joint] + term.coefficient if joint in speeds else term.coefficient
    return [
        Term(c, (*term.factors, (rate_name(joints), 1)), term.trig)
        for term, speeds in groups.values()
        for joints, c in _paired(speeds, summed)
    ]


def _paired(speeds: Speeds, summed: Sequence[tuple[int, ...]]) -> list[tuple[Sequence[int], Fraction]]:
    left = {k: speeds[k] for k in sorted(speeds) if speeds[k]}
    found: list[tuple[Sequence[int], Fraction]] = []
    while left:
        a, c = next(iter(left.items()))
        del left[a]
        b = next((b for b, other in left.items() if other == -c and a in summed[b]), None)
        if b is None:
            found.append((summed[a], c))
        else:
            del left[b]
            found.append((summed[b][len(summed[a]) :], -c))
    return found


def rate_name(joints: Sequence[int]) -> str:
    """qd3, or qd1_to_3 for consecutive joints, or qd1_3_5."""
    first, last = joints[0] + 1, joints[-1] + 1
    if len(joints) == 1:
        return f"qd{first}"
    whole = last - first == len(joints) - 1
    return f"qd{first}_to_{last}" if whole else "qd" + "_".join(str(j + 1) for j in joints)
