"""Machine code in this process, compiled from LLVM IR."""

from __future__ import annotations

import functools
import mmap
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels import cache
from armdyn.progress import is_shown, progress_bar, stage

T = TypeVar("T")

_locks = {"llvm": threading.RLock()}  # LLVM's global state allows one thread at a time
_engines: list[Any] = []  # engines own the code: they live as long as the process
_loaded: dict[str, Any] = {}  # what has been made of loaded code, by its key in the cache
_LIBRARY = 256 << 20  # bytes, more than LLVM's own code takes
_ROOM = 16 << 20  # bytes that LLVM takes at most for small programs
_MAPS = 16  # memory maps, more than loading takes
SECONDS = 0.8e-6  # that LLVM takes for a letter of its text, on a core of 2.8 GHz; 0.6e-6 at level 1
LONG = 20.0  # s: what takes longer is said before


def lock() -> threading.RLock:
    """The lock that is held while compiling or loading."""
    return _locks["llvm"]


if hasattr(os, "register_at_fork"):  # a fork waits for a compilation under way: the child finds no lock taken
    os.register_at_fork(
        before=lambda: lock().acquire(),
        after_in_parent=lambda: lock().release(),
        after_in_child=lambda: lock().release(),
    )


@functools.cache
def _llvm() -> Any:
    """LLVM, imported when it is first needed: without it the evaluator still works."""
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        _make_sure_of(_LIBRARY)  # raises MemoryError if that is the reason
        raise ArmdynError(
            f"compiled functions need llvmlite, which cannot be imported ({error}); "
            "armdyn.set_backend('evaluator') works without it"
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def llvm_versions() -> str:
    """The version of llvmlite, and in brackets that of LLVM."""
    llvm = _llvm()
    version = sys.modules["llvmlite"].__dict__["__version__"]
    return f"{version} (LLVM {'.'.join(map(str, llvm.llvm_version_info))})"


VARIABLE = "ARMDYN_CPU"
_LEVELS = {  # of x86-64, as compilers name them: the size of a vector register, what a processor has to have
    "x86-64": (16, "sse2"),
    "x86-64-v2": (16, "sse4.2 ssse3 popcnt cx16"),
    "x86-64-v3": (32, "avx2 bmi bmi2 f16c fma lzcnt movbe"),
    "x86-64-v4": (64, "avx512f avx512bw avx512cd avx512dq avx512vl"),
}


@functools.cache
def cpu() -> tuple[str, str]:
    """Name and features of the processor that code is made for: this one, or what $ARMDYN_CPU names."""
    llvm = _llvm()
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return name, features.flatten()
    here = []
    for level, (_, needed) in _LEVELS.items():
        if not all(features.get(feature) for feature in needed.split()):
            break
        here.append(level)
    if given not in here:
        allowed = " ".join(here) or "nothing: levels are those of x86-64"
        raise ArmdynError(f"{VARIABLE}: found {given[:40]!r}; on this processor ({name}) allowed: {allowed}")
    return given, ""


@functools.cache
def vector_bytes() -> int:
    """The size of a vector register: AVX-512, AVX, else 16 (SSE2, NEON)."""
    name, text = cpu()
    if name in _LEVELS:
        return _LEVELS[name][0]
    features = set(text.split(","))
    if "+avx512f" in features:
        return 64
    return 32 if "+avx" in features else 16


def toolchain() -> str:
    """Text of all that machine code depends on besides the program: versions and processor."""
    versions = f"{llvm_versions()} {np.__version__} {sys.version}"
    return f"{versions} {' '.join(cpu())} {_llvm().get_process_triple()}"


def _make_sure_of(size: int) -> None:
    """Raise MemoryError unless there is memory for LLVM and `size` bytes; LLVM would end the process.

    A process may also have only so many memory maps (65 530 on Linux), of which loaded code takes three.
    """
    held: list[mmap.mmap] = []
    try:
        held += (mmap.mmap(-1, length) for length in (_ROOM + size, *[mmap.PAGESIZE] * _MAPS))
    except OSError:
        raise MemoryError("not enough memory to compile") from None
    finally:
        for memory in held:
            memory.close()


def compile_ir(ir: str, with_passes: bool = False, level: int = 2) -> bytes:
    """Object code for this processor; passes over the IR pay only where there are loops and small calls.

    `level` is LLVM's for code generation: with 1, long code is made in four fifths of the time that 2 takes.
    """
    with lock():
        _make_sure_of(8 * len(ir))
        module, machine = _llvm().parse_assembly(ir), _target_machine(level)
        if with_passes:
            _improve(module, machine)
        return machine.emit_object(module)  # type: ignore[no-any-return]


def _improve(module: Any, machine: Any) -> None:
    """Run passes over the IR: calls in line where marked, local arrays in registers, simpler loops."""
    llvm = _llvm()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_new_gvn_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_rotate_pass()
    passes.add_new_gvn_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


def _target_machine(level: int = 2) -> Any:
    llvm, (name, features) = _llvm(), cpu()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="jitdefault", jit=True
    )


def load_object(code: bytes, names: Sequence[str]) -> list[int]:
    """The addresses of functions and variables in object code, loaded for the rest of the process."""
    with lock():
        _make_sure_of(8 * len(code))
        llvm = _llvm()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        addresses = [int(engine.get_global_value_address(name)) for name in names]
        if not all(addresses):
            raise ValueError(f"the object code lacks one of {', '.join(names)}")
        _engines.append(engine)
        return addresses


class CompileWarning(UserWarning):
    """Compiling takes long: the function of a robot with very many joints."""


def _compiled(what: str, ir: str, with_passes: bool, level: int) -> bytes:
    """Machine code by `compile_ir`; where it takes long, progress or a warning says so before."""
    seconds = SECONDS * len(ir)
    if seconds < LONG:
        return compile_ir(ir, with_passes, level)
    text = f"{len(ir) / 1e6:.0f} MB of code, some {seconds:.2g} s"
    if not is_shown():
        kept = "it is kept on the disk for the next time"
        warnings.warn(CompileWarning(f"{what}: compiling {text}; {kept}"), stacklevel=2)
    with stage(text):
        return compile_ir(ir, with_passes, level)


class ModuleText(NamedTuple):
    """A module, and the modules of functions that it calls, by their names: others may call them, too."""

    text: str
    functions: Mapping[str, str] = {}


def loaded(
    parts: Sequence[str],
    kinds: Sequence[str],
    ir: Callable[[str], ModuleText],
    made: Callable[..., T],
    with_passes: bool = False,
    level: int = 2,
) -> T:
    """The result of `made` with the addresses of @KIND_NAME, for each kind, in the module of ir(NAME).

    Once per process; compiled only if the disk does not hold the code for these parts, which identify it.
    """
    key = cache.digest_of(*parts, cache.code_digest(), toolchain())
    with lock():
        if key not in _loaded:
            name, code = key[:24], _kept(key)
            if code is None:
                with progress_bar(f"compiling {parts[0]}", None):
                    module = ir(name)
                    for function, text in module.functions.items():
                        _make_known(function, functools.partial(_compiled, parts[0], text, False, 1))
                    code = _compiled(parts[0], module.text, with_passes, level)
                cache.write(key, " ".join(module.functions).encode() + b"\n" + code)
            _loaded[key] = made(*load_object(code, [f"{kind}_{name}" for kind in kinds]))
        return _loaded[key]  # type: ignore[no-any-return]


def _kept(key: str) -> bytes | None:
    """Code on disk, once the functions that it calls are loaded; None if some of that is not there.

    A line with the names of these functions stands before it.
    """
    found = cache.read(key)
    if found is None:
        return None
    line, _, code = found.partition(b"\n")
    return code if all(_make_known(name, None) for name in line.decode().split()) else None


def _make_known(function: str, compiled: Callable[[], bytes] | None) -> bool:
    """Load a function, so that modules can call it by its name. Returns whether it is there."""
    if function not in _loaded:
        key = cache.digest_of(function, toolchain())
        code = cache.read(key)
        if code is None:
            if compiled is None:
                return False
            code = compiled()
            cache.write(key, code)
        (_loaded[function],) = load_object(code, [function])
        _llvm().add_symbol(function, _loaded[function])
    return True
