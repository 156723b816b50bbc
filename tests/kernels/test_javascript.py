"""Programs and loops as JavaScript, run by Chromium, against the evaluator."""

import json
from math import inf, nan

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels.javascript import function_text, loop_text, number
from armdyn.program import record
from armdyn.program.evaluate import evaluate, evaluate_loop
from armdyn.robot.assembly import assembly_loop
from armdyn.robot.closing import Closed
from arms import state
from program_loops import LOOPS, arguments

CALL = """([name, text, inputs, sizes]) => {
  const run = new Function(`${text}; return ${name};`)();
  const outputs = sizes.map(size => new Float64Array(size));
  run(...inputs.map(x => Array.isArray(x) ? Float64Array.from(x) : x), ...outputs);
  return outputs.map(x => [...x].map(String));
}"""


def called(page, name, text, inputs, sizes):
    """What a function writes into arrays of these sizes."""
    given = [x if isinstance(x, int) else np.ravel(x).tolist() for x in inputs]
    found = page.evaluate(CALL, [name, text, given, list(sizes)])
    return [np.array([float(x.replace("Infinity", "inf")) for x in one]) for one in found]


@pytest.fixture(scope="module")
def page(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def everything(x, y):
    """All operations, constants of all kinds, results that are inputs or constants."""
    a, b = x
    return [
        a + b, a - b, a * b, a / b, -a, a.sin(), b.cos(), abs(a).sqrt(), b.exp(), abs(a), a.sign(),
        (b - b).sign(), a.select(1, 2), (-a).select(b, -2.5), a * 1e-300, b + 1e22, a, 0.1, -3, y[0],
    ]  # fmt: skip


@pytest.mark.slow
def test_operations_agree_with_the_evaluator(page):
    program = record(everything, [("x", 2), ("y", 1)], [("out", (4, 5))])
    for x in ([0.3, -1.7], [-2.5, 0.4], [0.0, 1.0]):
        with np.errstate(all="ignore"):
            expected = np.ravel(evaluate(program, np.array(x), np.array([7.0])))
        (found,) = called(page, "f", function_text("f", program), [x, [7.0]], [20])
        np.testing.assert_allclose(found, expected, rtol=4e-16)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"), (2.0, "2"), (-2.5, "(-2.5)"), (1e300, "1e+300"), (5e-324, "5e-324"),
        (inf, "Infinity"), (-inf, "(-Infinity)"), (nan, "NaN"), (-0.0, "(-0)"),
    ],
)  # fmt: skip
def test_numbers_are_written_so_that_they_are_read_back(value, text):
    assert number(value) == text


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_loops_agree_with_the_evaluator(page, name):
    loop = LOOPS[name]()
    steps = 4
    given = arguments(loop, 1, steps)
    inputs = [steps] * len(loop.counts) + [given[a.name] for a in loop.arguments]
    text = loop_text("run", loop)
    wrapped = f"""{text}
    function kept(...all) {{
      const outputs = all.splice({len(inputs)});
      run(...all);
      all.slice({len(loop.counts)}).forEach((x, k) => outputs[k].set(x));
    }}"""
    sizes = [given[a.name].size for a in loop.arguments]
    found = called(page, "kept", wrapped, inputs, sizes)
    evaluate_loop(loop, 1, {count.name: steps for count in loop.counts}, given)
    for argument, values in zip(loop.arguments, found, strict=True):
        expected = given[argument.name].ravel()
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12, err_msg=argument.name)


@pytest.mark.slow
def test_assembly_agrees_with_python(page):
    robot = Robot.load("four_bar")
    text = loop_text("assemble", assembly_loop(Closed.of(robot.model)))
    q = state(robot, np.random.default_rng(3), (5,))[0]
    posture = np.array(robot.model.choice.posture)
    for x, y in zip(q, robot.assembly(q), strict=True):
        found, ended = called(page, "assemble", text, [x, posture], [len(posture), 3])
        np.testing.assert_allclose(found, y, rtol=0, atol=1e-12)
        assert ended[0] == 0


def test_the_text_is_the_same_every_time():
    texts = {function_text("f", Robot.load("planar").program("inertia")) for _ in range(2)}
    assert len(texts) == 1
    assert json.dumps(texts.pop()).isascii()
