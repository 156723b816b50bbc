"""C99 as a package: header, source, wrapper for C++17, test with reference vectors, CMake file and README."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.files import write_files
from armdyn.kernels import c_math
from armdyn.kernels.c import (
    Words,
    called_programs,
    check_constants,
    comment_block,
    commented,
    constant_array,
    definition,
    fits,
    input_names,
    loop_parts,
    number,
    output_names,
    prototype,
)
from armdyn.kernels.cache import own_version
from armdyn.program.evaluate import evaluate, evaluate_loop
from armdyn.program.loops import Loop, extent
from armdyn.program.ops import OPS
from armdyn.program.program import Program

BYTES = {"double": 8, "float": 4}
FRAME = 256  # bytes of stack for what a function has beside its numbers: saved registers, addresses
_NUMBERS = 1500  # in the reference vectors of a function, about
_STATES = 10  # reference vectors of a function, at most


@dataclass(frozen=True)
class CSource:
    """The texts of an export."""

    header: str
    source: str
    test: str  # empty: none
    prefix: str
    wrapper: str = ""  # C++
    build: str = ""  # CMake
    readme: str = ""

    @property
    def files(self) -> dict[str, str]:
        """The texts by the names of their files."""
        named = {
            f"{self.prefix}.h": self.header,
            f"{self.prefix}.c": self.source,
            f"test_{self.prefix}.c": self.test,
            f"{self.prefix}.hpp": self.wrapper,
            "CMakeLists.txt": self.build,
            "README.md": self.readme,
        }
        return {name: text for name, text in named.items() if text}

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files, all or none, and give their paths. The folder is created if its parent exists."""
        folder = Path(folder)
        made = not folder.exists()
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = f"there is no folder '{folder.parent}'" if isinstance(error, FileNotFoundError) else None
            raise ArmdynError(f"cannot write to '{folder}': {reason or error.strerror}") from None
        self._spare_others(folder)
        try:
            return write_files({folder / name: text for name, text in self.files.items()})
        except ArmdynError:
            if made:
                folder.rmdir()
            raise

    def _spare_others(self, folder: Path) -> None:
        """Refuse to replace a CMake file or README that is not of an earlier export with this prefix."""
        for name, mark in (("CMakeLists.txt", f"add_library({self.prefix} "), ("README.md", self._mark)):
            path = folder / name
            if name in self.files and path.is_file() and mark not in path.read_text("utf-8", "replace"):
                raise ArmdynError(
                    f"cannot write to '{folder}': its {name} is not of a package '{self.prefix}'; "
                    "give each package a folder of its own"
                )

    @property
    def _mark(self) -> str:
        return f"`{self.prefix}.h` says"


@dataclass(frozen=True)
class Language:
    """What C is written in: "double" or "float", and functions of libm or of its own."""

    scalar: str = "double"
    libm: bool = True

    def math(self, prefix: str) -> str | None:
        return None if self.libm else prefix

    def rounded(self, values: Any) -> np.ndarray:
        """Numbers as this type has them."""
        return np.array(np.float32(values) if self.scalar == "float" else values, float)


@dataclass(frozen=True)
class ReferenceVectors:
    """Inputs and the results that belong to them, by name: a row for each state, or one row for all of them.

    `allowed` is how far a result may be off. A function whose arguments are not inputs, then results, has
    them in `call`, counts among them; `first` is what results that it reads, too, hold before.
    """

    inputs: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]  # (states, size)
    allowed: Mapping[str, float]
    call: Sequence[str] = ()
    first: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def states(self) -> int:
        return len(next(iter(self.expected.values())))


@dataclass(frozen=True)
class CArgument:
    """An array that a function takes."""

    name: str
    size: int
    written: bool


@dataclass(frozen=True)
class CFunction:
    """A function of a package. Without `arguments`, C++ calls it as C does: it takes counts or callbacks."""

    name: str
    arguments: tuple[CArgument, ...]
    declaration: str
    definitions: Sequence[str]
    called: frozenset[str]  # operations in it
    operations: int
    stack: int  # bytes, at most
    vectors: ReferenceVectors | None = None


@dataclass(frozen=True)
class CState:
    """`PREFIX_state`, `PREFIX_start(state)` and `PREFIX_step(state, inputs, results)`, one call a sample.

    `members` are the struct's arrays with their first values, `lines` the step's statements. `function` is
    the one that it calls.
    """

    members: Mapping[str, np.ndarray]
    inputs: Sequence[tuple[str, int]]
    results: Sequence[tuple[str, int]]
    words: Mapping[str, str]
    lines: Sequence[str]
    function: str
    vectors: ReferenceVectors


@dataclass(frozen=True)
class Further:
    """What an export has beside its programs, and the inputs that these are tested with."""

    macros: Sequence[str] = ()
    functions: Sequence[CFunction] = ()
    state: CState | None = None
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)  # by name; others are random


def c_source(
    title: str,
    prefix: str,
    programs: Mapping[str, Program],
    joints: Sequence[str],
    language: Language,
    words: Words,
    further: Further | None = None,
) -> CSource:
    """Functions `PREFIX_NAME` for programs by name, and further ones."""
    further = further or Further()
    functions = [
        program_function(prefix, name, p, language, words, further.inputs) for name, p in programs.items()
    ]
    return package(
        title, prefix, joints, language, [*further.functions, *functions], further.macros, further.state
    )


def package(
    title: str,
    prefix: str,
    joints: Sequence[str],
    language: Language,
    functions: Sequence[CFunction],
    macros: Sequence[str] = (),
    state: CState | None = None,
) -> CSource:
    """All texts of an export."""
    if state is not None:
        functions = [*functions, *_stepping(prefix, state, functions, language)]
    origin = _provenance(title, joints, language, functions)
    header = _header(origin, prefix, [*macros, *(x.declaration for x in functions)])
    source = [f'{origin}#include "{prefix}.h"\n', "#include <math.h>\n" * language.libm]
    if not language.libm:
        called = {op for x in functions for op in x.called}
        source += c_math.functions(prefix, called, language.scalar)
    source += [text for x in functions for text in x.definitions]
    test = _test(origin, prefix, functions, state, language)
    return CSource(
        header,
        "\n".join(text for text in source if text),
        test,
        prefix,
        _wrapper(title, prefix, functions, state, language),
        _cmake(title, prefix, language, bool(test)),
        _readme(title, prefix, functions, language, bool(test), state is not None),
    )


def _provenance(title: str, joints: Sequence[str], language: Language, functions: Sequence[CFunction]) -> str:
    """A comment for the beginning of a file: what it is, and who made it."""
    needs = "needs libm only" if language.libm else "needs no library"
    lines = [f"{title}: made by armdyn {own_version()}, {language.scalar} precision, C99, {needs}."]
    lines += [f"joint {i + 1}: {joint}" for i, joint in enumerate(joints)]
    if not language.libm:
        called = {op for x in functions for op in x.called}
        lines += c_math.stated(called, language.scalar)
    return comment_block(lines)


def _header(origin: str, prefix: str, declarations: Sequence[str]) -> str:
    guard = f"{prefix.upper()}_H"
    version = f'#define {prefix.upper()}_VERSION "{own_version()}" /* of armdyn, which wrote this */\n'
    rules = comment_block(
        [
            "No function allocates memory or keeps anything between calls: several may run at once.",
            "Arrays that are written may not overlap others. Stack is said without that of libm's functions.",
        ]
    )
    inside = "\n".join([version, rules, *declarations])
    return (
        f"{origin}#ifndef {guard}\n#define {guard}\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"{inside}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )


# ------------------------------------------------------------------------------------------------------------
# Functions of programs and loops.


def program_function(
    prefix: str,
    name: str,
    program: Program,
    language: Language,
    words: Words,
    given: Mapping[str, np.ndarray] | None = None,
) -> CFunction:
    """`PREFIX_NAME` of a program, tested at `given` inputs and random ones."""
    check_constants(name, program, language.scalar)
    vectors = reference(name, program, language, given or {})
    inputs, outputs = input_names(program), output_names(program)
    lines = [
        f"{x}[{size}]: {words.inputs[key]}"
        for (key, _), (x, size) in zip(program.inputs, inputs, strict=True)
    ]
    for (x, size), (_, shape), meaning in zip(outputs, program.outputs, words.results[name], strict=True):
        lines.append(f"{x}[{size}]: {meaning} ({'x'.join(map(str, shape)) or 'scalar'})")
    counts = ", ".join(f"{n} {op}" for op, n in program.counts.items())
    stack = _stack(program, language)
    lines.append(f"operations: {counts or 'none'}")
    lines.append(f"stack: at most {stack} bytes, {_alive(program)} temporaries at once")
    lines.append(
        f"rounding: at most {_worst(vectors):.1e} of the test's largest number, at the states of the test"
    )
    arguments = [CArgument(x, size, False) for x, size in inputs]
    return CFunction(
        name,
        (*arguments, *(CArgument(x, size, True) for x, size in outputs)),
        f"{comment_block(lines)}{prototype(prefix, name, program, language.scalar)};\n",
        [definition(prefix, name, program, language.scalar, language.math(prefix))],
        frozenset(program.counts),
        sum(program.counts.values()),
        stack,
        vectors,
    )


def loop_function(
    prefix: str,
    loop: Loop,
    language: Language,
    meanings: Mapping[str, str],
    vectors: ReferenceVectors | None = None,
) -> CFunction:
    """`PREFIX_LOOP` of a loop; operations are those of counts of 1."""
    scalar = language.scalar
    declaration, functions = loop_parts(prefix, loop, scalar, meanings, language.math(prefix))
    programs = called_programs(loop).values()
    operations = extent(loop, {count.name: 1 for count in loop.counts}).operations
    stack = _loop_stack(functions[-1], scalar) + sum(_stack(program, language) for program in programs)
    closed = not loop.counts and not loop.asks
    arguments = [CArgument(x.name, x.columns, x.written) for x in loop.arguments] if closed else []
    counted = " with counts of 1 and each loop that ends by itself run once" if operations else ""
    said = f" * operations: {operations}{counted}\n * stack: at most {stack} bytes\n */\n"
    return CFunction(
        loop.name,
        tuple(arguments),
        said.join(declaration.rsplit(" */\n", 1)),
        functions,
        frozenset(op for program in programs for op in program.counts),
        operations,
        stack,
        vectors,
    )


_CHOSEN = ("sign", "min", "max", "select")  # C has a second place for what ?: gives


def _stack(program: Program, language: Language) -> int:
    """Bytes of stack that a function takes at most: as without optimisation, each temporary in its own place.

    An optimising compiler needs a fraction of it, but may reorder, so that nothing less is certain.
    """
    own_math = not language.libm and any(op in c_math.FUNCTIONS for op in program.counts)
    chosen = sum(program.counts.get(op, 0) for op in _CHOSEN)
    numbers, arrays = sum(program.counts.values()) + chosen, len(program.inputs) + len(program.outputs)
    found = BYTES[language.scalar] * numbers + 8 * arrays + FRAME + c_math.FRAME * own_math
    return -(-found // 16) * 16


def _loop_stack(text: str, scalar: str) -> int:
    """The same of a loop's function, without those that it calls."""
    arrays = re.findall(rf"^ +{scalar} \w+\[(\d+)\]", text, re.MULTILINE)
    integers = len(re.findall(r"\b(?:long|int) \w+ = |, end_\d+ = ", text)) + text.partition("\n")[0].count(
        ","
    )
    found = BYTES[scalar] * sum(map(int, arrays)) + 16 * len(arrays) + 8 * integers + FRAME
    return -(-found // 16) * 16


def _alive(program: Program) -> int:
    """The largest number of temporaries that are still needed, in the order of the code."""
    last = dict.fromkeys(program.results, len(program.nodes))
    for i, node in enumerate(program.nodes):
        if node[0] in OPS:
            for a in node[1:]:
                last[a] = max(last.get(a, i), i)
    ends = [0] * (len(program.nodes) + 1)
    alive = most = 0
    for i, node in enumerate(program.nodes):
        alive -= ends[i - 1] if i else 0
        if node[0] in OPS:
            alive += 1
            ends[last[i]] += 1
        most = max(most, alive)
    return most


# ---- reference vectors -------------------------------------------------------------------------------------


def reference(
    name: str, program: Program, language: Language, given: Mapping[str, np.ndarray]
) -> ReferenceVectors:
    """States and what the program gives there, with the rounding that is allowed."""
    rng = np.random.default_rng(7)
    numbers = sum(size for _, size in program.inputs) + sum(prod(shape) for _, shape in program.outputs)
    states = max(1, min(_STATES, _NUMBERS // max(numbers, 1)))
    if rows := [len(x) for x in given.values() if np.ndim(x) == 2]:
        states = min(states, *rows)
    inputs = [
        language.rounded(given[x] if x in given else rng.uniform(-1.0, 1.0, (states, size)))
        for x, size in program.inputs
    ]
    inputs = [x[:states] if x.ndim == 2 else x for x in inputs]
    expected = [
        np.broadcast_to(x.reshape(*x.shape[: x.ndim - len(shape)], -1), (states, prod(shape)))
        for x, (_, shape) in zip(evaluate(program, *inputs), program.outputs, strict=True)
    ]
    for value in np.concatenate([np.ravel(x) for x in expected]):
        if not fits(float(value), language.scalar):
            raise ArmdynError(
                f"{name}: a value of its test is {value}, which cannot be written as a {language.scalar} of C"
            )
    results = [x for x, _ in output_names(program)]
    bounds = rounding(program, inputs, language)
    coarse = 1e-10 if language.scalar == "double" else 1e-4
    allowed = [
        2 * bound if np.isfinite(bound) else coarse * float(abs(x).max(initial=0))
        for bound, x in zip(bounds, expected, strict=True)
    ]
    return ReferenceVectors(
        dict(zip((x for x, _ in input_names(program)), inputs, strict=True)),
        dict(zip(results, expected, strict=True)),
        dict(zip(results, allowed, strict=True)),
    )


def _worst(vectors: ReferenceVectors) -> float:
    """What is allowed, as a part of the largest number of a result."""
    return max(
        vectors.allowed[x] / (float(abs(values).max(initial=0)) or 1)
        for x, values in vectors.expected.items()
    )


class _Numbers(np.ndarray):
    """Numbers with the methods that derivatives of operations call."""

    def sin(self) -> Any:
        return np.sin(self)

    def cos(self) -> Any:
        return np.cos(self)

    def sign(self) -> Any:
        return np.sign(self)

    def select(self, a: Any, b: Any) -> Any:
        return np.where(self > 0, a, b)


_EXACT = ("neg", "abs", "sign", "min", "max", "select")
_ROUNDED_TO_ONE = ("sin", "cos")  # their errors are told beside 1, all others' beside the result


def rounding(program: Program, inputs: Sequence[np.ndarray], language: Language) -> list[float]:
    """What rounding changes in each output at most, to first order, whatever the order of operations within.

    Each operation is off by half a unit of its result, functions of libm by two units; an output by the sum
    of these errors, each times the derivative by what it is an error of.
    """
    half = 2.0**-53 if language.scalar == "double" else 2.0**-24
    values, errors = list[Any](), list[Any]()
    columns = [x[..., k] for x in inputs for k in range(x.shape[-1])]
    adjoints = dict[int, Any]()
    identity = np.eye(len(program.results))[:, :, None]
    for result, row in zip(program.results, identity, strict=True):
        adjoints[result] = adjoints.get(result, 0.0) + row
    total = np.zeros((len(program.results), 1))
    with np.errstate(all="ignore"):
        for node in program.nodes:
            if node[0] == "const":
                value, error = node[1], abs(node[1] - float(language.rounded(node[1])))
            elif node[0] == "input":
                value, error = columns[node[1]], 0.0
            else:
                value, error = OPS[node[0]].value(*(values[a] for a in node[1:])), 0.0
                if node[0] not in _EXACT:
                    units = 1 if node[0] in ("add", "sub", "mul", "div", "sqrt") else 4
                    error = half * units * (1 if node[0] in _ROUNDED_TO_ONE else abs(np.asarray(value)))
            values.append(np.asarray(value).view(_Numbers))
            errors.append(error)
        for i in range(len(program.nodes) - 1, -1, -1):
            adjoint, node = adjoints.pop(i, None), program.nodes[i]
            if adjoint is not None:
                total = total + abs(adjoint) * np.asarray(errors[i])
                if node[0] in OPS:
                    given = [values[a] for a in node[1:]]
                    for a, partial in zip(node[1:], OPS[node[0]].partials, strict=True):
                        slope = np.asarray(partial(*given, values[i]))
                        adjoints[a] = adjoints.get(a, 0.0) + adjoint * slope
    flat = iter(np.max(total, axis=-1))
    return [max((float(next(flat)) for _ in range(prod(shape))), default=0.0) for _, shape in program.outputs]


# ------------------------------------------------------------------------------------------------------------
# A state struct, and functions that begin it and take one sample.


def loop_state(
    prefix: str,
    loop: Loop,
    language: Language,
    members: Mapping[str, tuple[str, np.ndarray]],
    samples: Mapping[str, np.ndarray],
    words: Mapping[str, str],
) -> CState:
    """The state of a loop over samples, and a step that runs it once.

    `members` are arguments that the struct keeps: their names there, and their first values. `samples` (T,
    size) are what the others are tested with; what the loop writes is compared, or what the struct keeps.
    """
    count = len(next(iter(samples.values())))
    given = {x: language.rounded(first)[None, None] for x, (_, first) in members.items()}
    given |= {x: language.rounded(values)[:, None] for x, values in samples.items()}
    results = [x for x in loop.arguments if x.name not in given]
    given |= {x.name: np.zeros((count, 1, x.columns)) for x in results}
    found = {x.name: given[x.name][:, 0] for x in results}
    if results:
        evaluate_loop(loop, 1, {loop.counts[0].name: count}, given)
    else:
        kept = [x.name for x in loop.arguments if x.written]
        rows = {x: list[np.ndarray]() for x in kept}
        for k in range(count):
            one = {x: values if x in members else values[k : k + 1] for x, values in given.items()}
            evaluate_loop(loop, 1, {loop.counts[0].name: 1}, one)
            for x in kept:
                rows[x].append(one[x][0, 0].copy())
        found = {members[x][0]: np.array(values) for x, values in rows.items()}
    close = 1e-12 if language.scalar == "double" else 1e-4
    places = [f"state->{members[x.name][0]}" if x.name in members else x.name for x in loop.arguments]
    return CState(
        dict(members.values()),
        [(x.name, x.columns) for x in loop.arguments if x.name in samples],
        [(x.name, x.columns) for x in results],
        {**words, **{name: words[x] for x, (name, _) in members.items()}},
        [f"{prefix}_{loop.name}(1L, {', '.join(places)});"],
        loop.name,
        ReferenceVectors(
            {x: given[x][:, 0] for x in samples},
            found,
            {x: close * max(1.0, float(abs(values).max(initial=0))) for x, values in found.items()},
        ),
    )


def _stepping(
    prefix: str, state: CState, functions: Sequence[CFunction], language: Language
) -> Iterator[CFunction]:
    scalar, own = language.scalar, f"{prefix}_state"
    members = "".join(f"    {scalar} {name}[{len(x)}];\n" for name, x in state.members.items())
    kept = [f"{name}[{len(x)}]: {state.words[name]}" for name, x in state.members.items()]
    struct = f"{comment_block(kept)}typedef struct {own} {{\n{members}}} {own};\n\n"
    head = f"void {prefix}_start({own} *state)"
    lines = list[str]()
    for name, x in state.members.items():
        first = f"{name}[k]" if np.any(x) else number(0.0, scalar)
        lines += [f"    for (k = 0; k < {len(x)}; ++k) {{", f"        state->{name}[k] = {first};", "    }"]
    tables = [f"    {constant_array(scalar, name, x)}" for name, x in state.members.items() if np.any(x)]
    text = "\n".join([head, "{", *tables, "    int k;", *lines, "}", ""])
    said = comment_block(["what is known before the first sample"])
    yield CFunction("start", (), f"{struct}{said}{head};\n", [text], frozenset(), 0, FRAME)
    within = next(x for x in functions if x.name == state.function)
    parameters = [f"{own} *state"]
    parameters += [f"const {scalar} {name}[{size}]" for name, size in state.inputs]
    parameters += [f"{scalar} {name}[{size}]" for name, size in state.results]
    head = f"void {prefix}_step({', '.join(parameters)})"
    arrays = [*state.inputs, *state.results]
    text = "\n".join([head, "{", *(f"    {line}" for line in state.lines), "}", ""])
    stack = within.stack + _loop_stack(text, scalar)
    said = comment_block(
        [
            "one sample",
            *(f"{name}[{size}]: {state.words[name]}" for name, size in arrays),
            f"operations: {within.operations}",
            f"stack: at most {stack} bytes",
        ]
    )
    yield CFunction(
        "step", (), f"{said}{head};\n", [text], frozenset(), within.operations, stack, state.vectors
    )


# ------------------------------------------------------------------------------------------------------------
# The test program.


def _test(
    origin: str, prefix: str, functions: Sequence[CFunction], state: CState | None, language: Language
) -> str:
    """Compares functions with values computed here, tells the deviations, and exits with 0 when all agree."""
    scalar = language.scalar
    tested = [x for x in functions if x.vectors is not None]
    if not tested:
        return ""
    head = dedent(f"""\
        #include "{prefix}.h"

        #include <float.h>
        #include <stdio.h>

        typedef struct tally {{
            int results;
            int failed;
            double share; /* the largest deviation, as a part of what is allowed */
            const char *where;
        }} tally;

        /* The largest deviation so far, and of these numbers; DBL_MAX if one is not a number. */
        static double deviation(double before, const {scalar} *found, const double *expected, int count)
        {{
            double largest = before;
            int i;
            for (i = 0; i < count; ++i) {{
                const double gap = (double)found[i] - expected[i];
                const double size = (gap < 0.0) ? -gap : gap;
                if (!(size <= DBL_MAX)) {{
                    largest = DBL_MAX;
                }} else if (size > largest) {{
                    largest = size;
                }} else {{
                    /* not the largest */
                }}
            }}
            return largest;
        }}

        static void tell(tally *all, const char *where, double found, double allowed)
        {{
            const int bad = !(found <= allowed);
            const double share = bad ? 1.0 : ((allowed > 0.0) ? (found / allowed) : 0.0);
            (void)printf("%s: %s, deviation %.1e, allowed %.1e\\n",
                         where, bad ? "FAILED" : "ok", found, allowed);
            all->results += 1;
            all->failed += bad;
            if (share >= all->share) {{
                all->share = share;
                all->where = where;
            }}
        }}
        """)
    blocks = [_test_function(prefix, x, state if x.name == "step" else None, scalar) for x in tested]
    calls = "".join(f"    test_{x.name}(&all);\n" for x in tested)
    main = (
        'int main(void)\n{\n    tally all = {0, 0, 0.0, ""};\n'
        f"{calls}"
        '    (void)printf("largest deviation: %s, %.2g of what is allowed\\n", all.where, all.share);\n'
        '    (void)printf("%d of %d results agree\\n", all.results - all.failed, all.results);\n'
        "    return (all.failed > 0) ? 1 : 0;\n}\n"
    )
    return "\n".join([origin + head, *blocks, main])


def _test_function(prefix: str, function: CFunction, state: CState | None, scalar: str) -> str:
    vectors = function.vectors
    assert vectors is not None
    sizes = {x: values.shape[1] for x, values in vectors.expected.items()}
    found = {x: f"state.{x}" if state is not None and x in state.members else x for x in sizes}
    results = [x for x, place in found.items() if place == x]
    lines = [_table(scalar, x, values) for x, values in vectors.inputs.items()]
    lines += [_table("double", f"{x}_expected", values) for x, values in vectors.expected.items()]
    lines += [constant_array(scalar, x, values, "static") for x, values in vectors.first.items()]
    lines += [f"{scalar} {x}[{sizes[x]}];" for x in results if x not in vectors.first]
    lines += [f"double {x}_gap = 0.0;" for x in sizes]
    lines += [f"{prefix}_state state;"] * (state is not None)
    lines += ["int row;"]
    lines += [f"{prefix}_start(&state);"] * (state is not None)
    given = [f"{x}[row]" if values.ndim == 2 else x for x, values in vectors.inputs.items()]
    arguments = ", ".join(vectors.call or ["&state"] * (state is not None) + given + results)
    lines += [
        f"for (row = 0; row < {vectors.states}; ++row) {{",
        f"    {prefix}_{function.name}({arguments});",
    ]
    lines += [
        f"    {x}_gap = deviation({x}_gap, {found[x]}, {x}_expected[row], {size});"
        for x, size in sizes.items()
    ]
    lines += ["}"]
    lines += [
        f'tell(all, "{function.name} {x}", {x}_gap, {number(vectors.allowed[x], "double")});' for x in sizes
    ]
    return f"static void test_{function.name}(tally *all)\n{{\n{indent(chr(10).join(lines), '    ')}\n}}\n"


def _table(scalar: str, name: str, values: np.ndarray) -> str:
    """The definition of an array with rows, or of one row."""
    if values.ndim == 1:
        return constant_array(scalar, name, values)
    rows = [constant_array(scalar, "", row).partition("{")[2].removesuffix("};").strip() for row in values]
    body = ",\n    ".join(f"{{{row}}}" for row in rows)
    return f"static const {scalar} {name}[{len(values)}][{values.shape[1]}] = {{\n    {body}}};"


# ------------------------------------------------------------------------------------------------------------
# C++, CMake, README.


def _wrapper(
    title: str, prefix: str, functions: Sequence[CFunction], state: CState | None, language: Language
) -> str:
    scalar, guard = language.scalar, f"{prefix.upper()}_HPP"
    calls = "\n".join(_wrapped(prefix, x, scalar) for x in functions if x.arguments)
    if state is not None:
        calls += _class(prefix, state, scalar)
    origin = comment_block([f"{title}: the functions of {prefix}.h for C++17; nothing throws or allocates."])
    return f"""{origin}#ifndef {guard}
#define {guard}

#include "{prefix}.h"

#include <array>
#include <cstddef>
#include <type_traits>

namespace armdyn::{prefix} {{

/* N numbers that lie one after the other. */
template <class T, ::std::size_t N>
class span {{
public:
    constexpr span(T (&numbers)[N]) noexcept : first_(numbers) {{}}
    constexpr span(::std::array<::std::remove_const_t<T>, N> &numbers) noexcept : first_(numbers.data()) {{}}
    template <class U, class = ::std::enable_if_t<::std::is_same_v<T, const U>>>
    constexpr span(const ::std::array<U, N> &numbers) noexcept : first_(numbers.data()) {{}}
    template <class U, class = ::std::enable_if_t<::std::is_same_v<T, const U>>>
    constexpr span(span<U, N> numbers) noexcept : first_(numbers.data()) {{}}
    constexpr explicit span(T *first) noexcept : first_(first) {{}} /* the caller knows that there are N */

    constexpr T *data() const noexcept {{ return first_; }}
    static constexpr ::std::size_t size() noexcept {{ return N; }}
    constexpr T &operator[](::std::size_t k) const noexcept {{ return first_[k]; }}
    constexpr T *begin() const noexcept {{ return first_; }}
    constexpr T *end() const noexcept {{ return first_ + N; }}

private:
    T *first_;
}};

{calls}
}} // namespace armdyn::{prefix}

#endif
"""


def _wrapped(prefix: str, function: CFunction, scalar: str) -> str:
    parameters = ", ".join(
        f"span<{'' if x.written else 'const '}{scalar}, {x.size}> {x.name}" for x in function.arguments
    )
    arguments = ", ".join(f"{x.name}.data()" for x in function.arguments)
    return (
        f"inline void {function.name}({parameters}) noexcept\n{{\n"
        f"    ::{prefix}_{function.name}({arguments});\n}}\n"
    )


def _class(prefix: str, state: CState, scalar: str) -> str:
    parameters = [f"span<const {scalar}, {size}> {name}" for name, size in state.inputs]
    parameters += [f"span<{scalar}, {size}> {name}" for name, size in state.results]
    arguments = "".join(f", {name}.data()" for name, _ in (*state.inputs, *state.results))
    return f"""
/* The state with its functions. */
class stepper {{
public:
    stepper() noexcept {{ start(); }}
    void start() noexcept {{ ::{prefix}_start(&state); }}
    void step({", ".join(parameters)}) noexcept
    {{
        ::{prefix}_step(&state{arguments});
    }}

    ::{prefix}_state state;
}};
"""


def _cmake(title: str, prefix: str, language: Language, tested: bool) -> str:
    found = re.match(r"\d+(\.\d+){0,3}", own_version())
    version = found[0] if found else "0"
    text = f"""\
# {commented(title)}: made by armdyn {own_version()}.
cmake_minimum_required(VERSION 3.15)
project({prefix} VERSION {version} LANGUAGES C)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library({prefix} {prefix}.c)
add_library({prefix}::{prefix} ALIAS {prefix})
set_target_properties({prefix} PROPERTIES
    C_STANDARD 99
    C_STANDARD_REQUIRED ON
    C_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_include_directories({prefix} PUBLIC
    "$<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>"
    "$<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}/{prefix}>")
"""
    if language.libm:
        text += f"if(UNIX)\n    target_link_libraries({prefix} PUBLIC m)\nendif()\n"
    if tested:
        text += f"""
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    include(CTest)
    if(BUILD_TESTING)
        add_executable(test_{prefix} test_{prefix}.c)
        set_target_properties(test_{prefix} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
        target_link_libraries(test_{prefix} PRIVATE {prefix}::{prefix})
        add_test(NAME {prefix} COMMAND test_{prefix})
    endif()
endif()
"""
    return (
        text
        + f"""
set(config "${{CMAKE_INSTALL_LIBDIR}}/cmake/{prefix}")
install(TARGETS {prefix} EXPORT {prefix})
install(FILES {prefix}.h {prefix}.hpp DESTINATION "${{CMAKE_INSTALL_INCLUDEDIR}}/{prefix}")
install(EXPORT {prefix} FILE {prefix}-config.cmake NAMESPACE {prefix}:: DESTINATION "${{config}}")
export(EXPORT {prefix} FILE {prefix}-config.cmake NAMESPACE {prefix}::)
write_basic_package_version_file({prefix}-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES "${{CMAKE_CURRENT_BINARY_DIR}}/{prefix}-config-version.cmake" DESTINATION "${{config}}")
"""
    )


def _readme(
    title: str, prefix: str, functions: Sequence[CFunction], language: Language, tested: bool, steps: bool
) -> str:
    needs = "needs libm only" if language.libm else "needs no library"
    rows = "\n".join(
        f"| `{prefix}_{x.name}` | {x.operations} | {x.stack} | "
        + (f"{_worst(x.vectors):.1e} |" if x.vectors is not None else " |")
        for x in functions
    )
    named = commented(title).translate({ord(c): f"\\{c}" for c in "\\`*_[]<>#|"})
    test = f"""
```sh
cmake -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build --config Release
cd build
ctest -C Release --output-on-failure
```

`test_{prefix}.c` compares every function that has an error in the table with numbers computed by armdyn,
tells how far each is off, and exits with 0 where all are within what is allowed. Without CMake, compile
`{prefix}.c` and `test_{prefix}.c` together{", with `-lm` if libm is a library apart" * language.libm}.
"""
    library = "libm's own comes on top. " if language.libm else ""
    kept = f"; what goes on from sample to sample is in `{prefix}_state`" if steps else ""
    math = "" if language.libm else ", with them those of the functions in place of libm"
    return f"""\
# {named}

C99 in {language.scalar} precision, made by armdyn {own_version()}; {needs}. `{prefix}.h` says what
each argument is, in which order and unit. `{prefix}.hpp` has the same for C++17, in the namespace
`armdyn::{prefix}`.
{test * tested}
## Use

Compile `{prefix}.c` with your program. Or with CMake: `add_subdirectory`, or `cmake --install build` and
`find_package({prefix} CONFIG)`; then `target_link_libraries(yours PRIVATE {prefix}::{prefix})`.

| function | operations | stack [bytes], at most | error, at most |
|---|---|---|---|
{rows}

- The error is that of rounding, to first order, as a part of the largest number of the result, at the
  states of the test: random numbers of -1 to 1, but for payloads, parameters and postures of closed loops.
  Of functions with loops it is what the test allows.
- The stack is what is taken if no two temporaries share a place. {library}With optimisation it
  is a fraction.
- Nothing allocates memory, recurses or keeps anything between calls{kept}.
- Arrays that are written may not overlap others. An argument that is not a number makes the results that
  depend on it no numbers either.
- `-ffast-math` voids the errors said here{math}. It lets compilers take every number for finite: then
  the test program, too, may take for right what is not a number.
"""
