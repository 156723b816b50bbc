"""Payload: the body that a robot carries, from its joint torques or from a force–torque sensor."""

from armdyn.identification.payload.from_sensor import payload_from_sensor
from armdyn.identification.payload.from_torques import identify_payload
from armdyn.identification.payload.payload import Payload

__all__ = ["Payload", "identify_payload", "payload_from_sensor"]
