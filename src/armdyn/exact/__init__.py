"""Exact closed form over python-flint's polynomials: equations, proofs, printing."""

from armdyn.exact.equations import Equations
from armdyn.exact.proof import Proof, ProofError

__all__ = ["Equations", "Proof", "ProofError"]
