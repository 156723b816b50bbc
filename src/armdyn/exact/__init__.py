"""Exact closed form over python-flint's polynomials: equations, proofs, printing.

Order: runs, ring, basis, printing/, handover, form, closed_form, base, proof, rotors, written, coordinates,
steps, kinematics, augmented, equations.
"""

from armdyn.exact.basis import SpringError
from armdyn.exact.equations import Equations
from armdyn.exact.proof import Proof, ProofError
from armdyn.exact.ring import SizeError

__all__ = ["Equations", "Proof", "ProofError", "SizeError", "SpringError"]
