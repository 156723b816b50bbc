"""LLVM IR -> machine code in this process."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError

_locks = {"llvm": threading.RLock()}  # LLVM's global state is not ours to share
_engines: list[Any] = []  # engines own the code: they live as long as the process
_loaded: dict[tuple[str, ...], list[int]] = {}
_LIBRARY = 256 << 20  # bytes, more than LLVM's own code takes
_ROOM = 16 << 20  # bytes that LLVM takes at most for small programs
MOST_LOADED = 10_000  # each takes some of the memory maps a process may have


def lock() -> threading.RLock:
    """Held while compiling or loading."""
    return _locks["llvm"]


if hasattr(os, "register_at_fork"):  # a fork waits for a compilation under way: the child finds no lock taken
    os.register_at_fork(
        before=lambda: lock().acquire(),
        after_in_parent=lambda: lock().release(),
        after_in_child=lambda: lock().release(),
    )


@cache
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


@cache
def cpu() -> tuple[str, str]:
    """Name and features of the processor."""
    llvm = _llvm()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def vector_bytes() -> int:
    """The size of a vector register: AVX-512, AVX, else 16 (SSE2, NEON)."""
    features = set(cpu()[1].split(","))
    if "+avx512f" in features:
        return 64
    return 32 if "+avx" in features else 16


def toolchain() -> str:
    """What, besides the program, the machine code depends on."""
    versions = f"{llvm_versions()} {np.__version__} {sys.version}"
    return f"{versions} {' '.join(cpu())} {_llvm().get_process_triple()}"


def _make_sure_of(size: int) -> None:
    """Raise MemoryError unless there is memory for LLVM and `size` bytes; LLVM would end the process."""
    try:
        mmap.mmap(-1, _ROOM + size).close()
    except OSError:
        raise MemoryError("not enough memory to compile") from None


def compile_ir(ir: str, with_passes: bool = False) -> bytes:
    """Object code for this processor; passes over the IR pay only where there are loops and small calls."""
    with lock():
        _make_sure_of(8 * len(ir))
        module, machine = _llvm().parse_assembly(ir), _target_machine()
        if with_passes:
            _improve(module, machine)
        return machine.emit_object(module)  # type: ignore[no-any-return]


def _improve(module: Any, machine: Any) -> None:
    """Calls marked so in line, local arrays in registers where they fit, simpler loops."""
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


def _target_machine() -> Any:
    llvm, (name, features) = _llvm(), cpu()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=name, features=features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


def loaded(names: Sequence[str]) -> list[int] | None:
    """The addresses of what has been loaded already."""
    return _loaded.get(tuple(names))


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
        _loaded[tuple(names)] = addresses
        return addresses


def is_full() -> bool:
    """Whether so much code is loaded that no more should be: kernels then use the evaluator."""
    return len(_engines) >= MOST_LOADED
