"""Consistency: estimates that bodies, rotors and friction can have, nearest to what was known before."""

from armdyn.identification.consistency.consistent import Consistent, consistent
from armdyn.identification.consistency.own_bodies import impossible_links

__all__ = ["Consistent", "consistent", "impossible_links"]
