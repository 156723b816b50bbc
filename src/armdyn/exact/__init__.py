"""Exact closed form over python-flint's polynomials: equations, proofs, printing."""

from armdyn.exact.engine.proof import Proof, ProofError
from armdyn.exact.engine.size import SizeError
from armdyn.exact.engine.springs import SpringError
from armdyn.exact.equations import Equations

__all__ = ["Equations", "Proof", "ProofError", "SizeError", "SpringError"]
