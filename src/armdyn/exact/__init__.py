"""Exact closed form over python-flint's polynomials: equations, proofs, printing."""

from armdyn.exact.equations import Equations
from armdyn.exact.proof import Proof, ProofError
from armdyn.exact.size import SizeError

__all__ = ["Equations", "Proof", "ProofError", "SizeError"]
