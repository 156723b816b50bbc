"""The kernels of a robot, made when first asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cached_property, lru_cache

from armdyn.kernels import Kernel
from armdyn.robot.functions import Key


class Kernels(dict[Key, Kernel]):
    """A robot's kernels by function, or by function, links with wrenches ("": the tip) and optional inputs.

    They are made when first asked for.
    """

    def __init__(self, make: Callable[[Key], Kernel]) -> None:
        self._make = make

    def __missing__(self, key: Key) -> Kernel:
        self._prepare(key)
        kernel: Kernel = getattr(self, repr(key))
        self[key] = kernel
        return kernel

    def _prepare(self, key: Key) -> None:
        """Make a kernel, as an attribute, where torch.compile can find what was made while it traced."""
        kernel = self._make(key)
        kernel.source = lambda: (kernel_of, (self._pickled, key))
        setattr(self, repr(key), kernel)

    _prepare._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile runs it, untraced

    @cached_property
    def _pickled(self) -> bytes:
        """What makes the kernels, with its robot."""
        return pickle.dumps(self._make)


@lru_cache(maxsize=256)
def kernel_of(make: bytes, key: Key) -> Kernel:
    """A kernel in another process, where it is made once, however often it is sent there."""
    kernel: Kernel = pickle.loads(make)(key)
    kernel.source = lambda: (kernel_of, (make, key))  # it may be sent on
    return kernel
