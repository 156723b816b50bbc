"""Exact closed form over python-flint's polynomials: equations, proofs, printing.

Each module imports those before it: runs, ring, basis, printing/, handover (to SymPy), form, closed_form,
written, steps, proof, coordinates, rotors, base, equations.

Order: runs, ring, basis, printing/, handover, form, closed_form, base, coordinates, proof, rotors, written,
steps, equations.
"""

from armdyn.exact.basis import SpringError
from armdyn.exact.equations import Equations
from armdyn.exact.proof import Proof, ProofError
from armdyn.exact.ring import SizeError

__all__ = ["Equations", "Proof", "ProofError", "SizeError", "SpringError"]
