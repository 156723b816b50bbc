"""Exact closed form over python-flint's polynomials: equations, proofs, printing.

Order: runs, ring, basis, printing/, handover, form, closed_form, base, proof, rotors, written, coordinates,
steps, kinematics, augmented, equations.
"""

from armdyn.exact.augmented import AugmentedLink, Energy
from armdyn.exact.basis import SpringError
from armdyn.exact.equations import Equations
from armdyn.exact.form import Array, NamedArray
from armdyn.exact.kinematics import AnalyticalJacobian, Jacobian
from armdyn.exact.proof import Proof, ProofError
from armdyn.exact.ring import SizeError

__all__ = [
    "AnalyticalJacobian",
    "Array",
    "AugmentedLink",
    "Energy",
    "Equations",
    "Jacobian",
    "NamedArray",
    "Proof",
    "ProofError",
    "SizeError",
    "SpringError",
]
