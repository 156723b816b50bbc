"""Functions of arrays: the data of one, checks of what it is given, and arrays of NumPy or CuPy alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armdyn.expression import ArmdynError, shown
from armdyn.program.loops import Loop
from armdyn.program.program import Program, Shape

# ------------------------------------------------------------------------------------------------------------
# The data of a kernel: named inputs and outputs, the program between them, and what identifies it.


@dataclass(frozen=True)
class Specification:
    """A function of arrays: inputs (..., size) by name, outputs (..., *shape).

    `record` makes the program when it is needed; `identity` is a text with all that the program depends on.
    `loop`, if there is one, makes the same function as a loop around programs, where one program would be too
    long: that is then recorded only for those who ask for it. The loop has no counts; its arguments, with one
    row each, are the inputs and then the outputs. `few` is such a loop that is quicker than the program where
    machine code is for one row at a time. `shared` is the same function in a form that other robots
    can use too.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[Shape, ...]
    record: Callable[[], Program]
    identity: str
    shared: Shared | None = None
    loop: Callable[[], Loop] | None = None
    few: Callable[[], Loop] | None = None

    @cached_property
    def program(self) -> Program:
        """The program, recorded when it is first needed."""
        return self.record()

    @cached_property
    def body(self) -> Program | Loop:
        """The code to run: the loop if there is one, else the program."""
        return self.loop() if self.loop else self.program


@dataclass(frozen=True)
class Shared:
    """A function that takes its constants as a vector, its first input, and this vector of a robot.

    Robots that differ only in numbers have the same specification here, and so the same machine code.
    """

    specification: Specification
    numbers: np.ndarray


# ------------------------------------------------------------------------------------------------------------
# Checks of what array functions are given: inputs, and arrays for results.
#
# NumPy arrays, numbers, lists and tuples of them, and pandas tables are accepted. Arrays of the libraries
# that `kernel.py` lists do not come here. NumPy could also convert other things (arrays of further libraries,
# masked arrays, arrays with units), but a mask or a unit would be lost. They are refused, and the message
# names their type.


class Table(Protocol):
    """A pandas DataFrame or Series."""

    @property
    def iloc(self) -> Any: ...

    def to_numpy(self) -> Any: ...


Floats: TypeAlias = NDArray[np.floating[Any]]
Scalars: TypeAlias = Floats | np.floating[Any]  # a scalar for a single state
_Array: TypeAlias = NDArray[np.floating[Any] | np.integer[Any]]
_Row: TypeAlias = Sequence[float] | _Array
Numbers: TypeAlias = _Row | Sequence[_Row] | Sequence[Sequence[_Row]] | Table

FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
_ACCEPTED = "NumPy arrays, lists and pandas tables are accepted"
_DEEPEST = 64  # NumPy has no more axes
_MOST_LISTED = 100_000_000  # numbers in lists, which would take many seconds to read


def real_array(
    name: str, x: Any, expected: str = "numbers", error: type[Exception] = TypeError
) -> NDArray[Any]:
    """`x` as an array of real numbers, which may be `x` itself; NaN and infinity are allowed."""
    try:
        array = _converted(x)
    except OverflowError:
        raise error(f"{name}: expected {expected}, found an integer larger than any float") from None
    except (TypeError, ValueError) as problem:
        raise error(f"{name}: expected {expected}, found {problem}") from None
    if not is_real(array.dtype):
        raise error(f"{name}: expected {expected}, found an array of {dtype_text(array.dtype)}")
    return array


def _converted(x: Any) -> NDArray[Any]:
    """`x` as an array; raises an exception whose text says what was found instead of numbers."""
    if isinstance(x, list | tuple):
        _check_entries(x)
        try:
            array = np.array(x)
        except ValueError:
            raise ValueError("lists of different lengths") from None
        return array.astype(float) if array.dtype == object else array
    if is_plain(type(x)):
        return np.asarray(x)
    if _is_number(type(x)):
        return np.asarray(x if isinstance(x, np.number) else float(x))
    if type(x).__module__.partition(".")[0] == "pandas" and hasattr(x, "to_numpy"):
        return np.asarray(x.to_numpy())
    raise TypeError(_kind_text(x))


def is_plain(kind: type) -> bool:
    """True for a plain array, not a subclass with a mask, units or its own arithmetic."""
    if not issubclass(kind, np.ndarray) or issubclass(kind, np.ma.MaskedArray):
        return False
    return kind.__array_ufunc__ is np.ndarray.__array_ufunc__


def is_real(dtype: np.dtype[Any]) -> bool:
    """True if arrays of this type hold real numbers of at most 64 bits."""
    return dtype.kind in "iuf" and dtype.itemsize <= 8


def _is_number(kind: type) -> bool:
    return kind is float or kind is int or (kind is not bool and issubclass(kind, Real | np.number))


def _check_entries(x: list[Any] | tuple[Any, ...]) -> None:
    """Refuse lists of anything but real numbers, arrays of them and lists, and lists that are too large.

    Goes level by level and checks each list once, even if it occurs many times, or within itself.
    """
    level: dict[int, Any] = {id(x): x}
    for _ in range(_DEEPEST):
        inner: dict[int, Any] = {}
        for part in level.values():
            for kind in set(map(type, part)):
                if _is_number(kind):
                    continue
                entries = [entry for entry in part if type(entry) is kind]
                if issubclass(kind, list | tuple):
                    inner |= {id(entry): entry for entry in entries}
                else:
                    _check_inner_arrays(kind, entries)
        if not inner:
            return _check_size(x)
        level = inner
    raise TypeError(f"lists more than {_DEEPEST} deep")


def _check_inner_arrays(kind: type, entries: Sequence[Any]) -> None:
    """Check arrays in a list: NumPy would read truth values as numbers, and None as NaN."""
    if not is_plain(kind):
        raise TypeError(_kind_text(entries[0], " in a list"))
    for dtype in {entry.dtype for entry in entries}:
        if not is_real(dtype):
            raise TypeError(f"an array of {dtype_text(dtype)} in a list")


def _check_size(x: Any) -> None:
    size = 1
    while isinstance(x, list | tuple) and x:
        size, x = size * len(x), x[0]
    if size > _MOST_LISTED:
        raise TypeError(f"lists of {size} numbers; at most {_MOST_LISTED} are read from lists")


def type_text(x: Any) -> str:
    """Name of an object's type, for messages."""
    kind = type(x)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"an object of type {home}{kind.__qualname__}"


def _kind_text(x: Any, where: str = "") -> str:
    """Words for what was found instead of numbers; `where` is put after it, such as " in a list"."""
    if x is None or isinstance(x, bool | np.bool | str | bytes | complex | np.generic):
        return shown(x) + where
    if isinstance(x, np.ma.MaskedArray):
        return f"a masked array{where}, whose mask would be lost; fill or compress it first"
    also = "; `robot.jax` makes functions for JAX" if type(x).__module__.startswith("jax") else ""
    return f"{type_text(x)}{where}; {_ACCEPTED}{also}"


def dtype_text(dtype: np.dtype[Any]) -> str:
    """Words for what an array holds, for messages."""
    words = {
        "b": "truth values",
        "c": "complex numbers",
        "U": "text",
        "S": "text",
        "T": "text",
        "O": "objects",
    }
    if dtype.kind == "f":
        return f"{dtype} numbers; at most 64 bits are supported"
    return f"{words[dtype.kind]} ({dtype})" if dtype.kind in words else f"{dtype}"


def checked_inputs(
    function: str, inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]
) -> tuple[list[NDArray[Any]], Shape]:
    """The arrays (..., size) of a function's inputs, and the shape their leading axes broadcast to."""
    if len(arrays) != len(inputs):
        raise wrong_count(function, inputs, arrays)
    found, leads = [], set()
    for (name, size), x in zip(inputs, arrays, strict=True):
        if type(x) is not np.ndarray or x.dtype is not FLOAT64:  # the usual case is quick
            x = real_array(name, x, f"numbers (..., {size})")
        shape = x.shape
        if not shape or shape[-1] != size:
            raise ArmdynError(f"{name}: expected (..., {size}), found {shape}")
        found.append(x)
        leads.add(shape[:-1])
    if len(leads) == 1:
        return found, leads.pop()
    try:
        return found, np.broadcast_shapes(*leads)
    except ValueError:
        raise misfit(function, [name for name, _ in inputs], found) from None


def wrong_count(function: str, inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> TypeError:
    """The error where a function is not given as many arrays as it has inputs."""
    names = ", ".join(name for name, _ in inputs)
    return TypeError(f"{function}: expected {names}, found {len(arrays)} arguments")


def misfit(function: str, names: Iterable[str], arrays: Iterable[Any]) -> ArmdynError:
    """The error where leading axes of arrays, of any library, do not broadcast."""
    shapes = ", ".join(f"{name} {tuple(x.shape)}" for name, x in zip(names, arrays, strict=True))
    return ArmdynError(f"{function}: shapes do not fit together: {shapes}")


def joined(what: str, arrays: Mapping[str, Any], size: int, functions: Any = np) -> Any:
    """Arrays (..., size) of `what`, by what messages call them, broadcast and side by side: (..., size k).

    `functions` are those of the arrays' library.
    """
    for name, x in arrays.items():
        if x.shape[-1:] != (size,):
            raise ArmdynError(f"{name}: expected (..., {size}), found {x.shape}")
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
    except ValueError:
        raise misfit(what, arrays, arrays.values()) from None
    return functions.concatenate([functions.broadcast_to(x, (*lead, size)) for x in arrays.values()], axis=-1)


def given_results(out: Any, count: int) -> tuple[Any, ...]:
    """The arrays of `out=`, of any library, one for each of `count` results."""
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != count:
        several = f"a tuple of {count} arrays" if count > 1 else "one array"
        found = f"a tuple of {len(out)}" if isinstance(out, tuple) else "one"
        raise TypeError(f"out: expected {several}, found {found}")
    return given


def checked_out(out: Any, batch: Shape, shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """The array or None given for each output; `batch` must broadcast to its leading axes."""
    given = given_results(out, len(shapes))
    for y, shape in zip(given, shapes, strict=True):
        if y is not None:
            _check_target(y, batch, shape)
    return given


def _check_target(y: Any, batch: Shape, shape: Shape) -> None:
    if not is_plain(type(y)):
        raise TypeError(f"out: expected a NumPy array, found {_kind_text(y)}")
    lead = y.shape[: y.ndim - len(shape)]
    try:
        fits = y.shape[len(lead) :] == shape and np.broadcast_shapes(batch, lead) == lead
    except ValueError:
        fits = False
    if not fits:
        raise ArmdynError(f"out: expected {(*batch, *shape)}, found {y.shape}")
    if y.dtype.kind != "f":
        raise TypeError(f"out: expected an array of floats, found an array of {dtype_text(y.dtype)}")
    if not y.flags.writeable:
        raise ArmdynError("out: the array is read-only")


# ------------------------------------------------------------------------------------------------------------
# Arrays that may be NumPy's or CuPy's: for code that runs on either, because NumPy's functions do.
#
# What NumPy does not hand on to CuPy is here: new arrays, arrays of one library among those of the other, and
# the way back to the CPU, which waits for the GPU.


def is_cupy(x: Any) -> bool:
    """True for an array of CuPy, which need not be installed."""
    kind = type(x)
    return kind is not np.ndarray and kind.__module__.partition(".")[0] == "cupy"


def on_device(x: Any) -> AbstractContextManager[Any]:
    """A context in which CuPy computes on the device of an array; nothing changes for arrays of NumPy."""
    return x.device if is_cupy(x) else nullcontext()


def array(x: Any) -> np.ndarray:
    """An array of CuPy as it is, and anything else as one of NumPy."""
    return x if is_cupy(x) else np.asarray(x)


def like(first: Any, x: Any) -> np.ndarray:
    """Numbers as an array where another is: of CuPy and of its type, or float64 of NumPy."""
    if not is_cupy(first):
        return np.asarray(x, float)
    import cupy

    with first.device:
        found: np.ndarray = cupy.asarray(x, dtype=first.dtype)
        return found


def zeros(first: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A new array where another is, and of its type; in NumPy of float64."""
    if not is_cupy(first):
        return np.zeros(shape)
    import cupy

    with first.device:
        found: np.ndarray = cupy.zeros(shape, dtype=first.dtype)
        return found


def zeros_by_instance(first: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The same (..., instances, columns) as loops read and write it quickest.

    On a GPU, where threads beside each other are instances, these are adjacent in memory.
    """
    if not is_cupy(first):
        return np.zeros(shape)
    *before, instances, columns = shape
    return np.swapaxes(zeros(first, (*before, columns, instances)), -1, -2)


def host(x: Any) -> np.ndarray:
    """The array in NumPy; one of CuPy is waited for and copied."""
    found: np.ndarray = x.get() if is_cupy(x) else np.asarray(x)
    return found
