"""Every example runs, warnings being errors, and prints what it is there to show."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "batches": ["inverse dynamics (2000, 6)", "kinetic energies (3, 2000)", "the terms add up: True"],
    "coordinates": ["b12 = kr2*pi8", "b33 = kr3**2*pi9 + pi7", "remote drive, motor 2: m2*l2*g*c12"],
    "demo": [
        "tau[2] = (Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2)*qdd1",
        "Proved for 'two-link planar arm'",
        "3873.1675   3078.1531",
        "3841.1728   3017.6622",
        "c² = 2.1549, 0.73398 s",
        "wrong by up to 25.4 N m at joint 1",
        "planar.html",
    ],
    "equations": ["b12 = Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2", "True False", "b66 = Izz6 + kr6**2*Im6"],
    "ilqr": ["the same costs: True", "fewer steps with second derivatives: True"],
    "jax_gradients": ["by our own derivatives agree: True", "200 motions, 60 steps: effort less by"],
    "online_payload": ["3 s: 20 kg", "the same torques, within 1 %: True"],
    "optimal_control": ["ends upright: True and at rest: True", "hold the arm level [N m]: [42.87  9.03]"],
    "own_arm": ["<Robot 'shoulder and elbow' RR", "the same robot: True", "unknown symbol 'm3'"],
    "parameters": ["tau = Y @ pi: True", "11 independent combinations", "payload of nothing: True"],
    "payload_by_gradient": (
        ["as with_payload has them: True", "found: 2.500 kg at [ 0.03 -0.05  0.12]"]
        if find_spec("torch")
        else ["PyTorch is not installed"]
    ),
    "rotors": ["motor of upper arm, on shoulder: qd1", "b13 = kr3*Im3*s2", "the diagonal leaves out"],
}
NEEDS = {"jax_gradients": "jax", "optimal_control": "casadi"}  # libraries that are not part of armdyn


def test_every_example_is_expected_to_show_something():
    assert sorted(EXPECTED) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in NEEDS else name for name in EXPECTED]
)
def test_example_runs_and_shows_what_it_is_there_for(name, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    folder = [str(tmp_path)] if name == "demo" else []
    run = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *folder],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for text in EXPECTED[name]:
        assert text in run.stdout


@pytest.mark.slow  # the demo runs above too
def test_demo_ends_in_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import demo

    path = demo.main(tmp_path / "new")
    page = path.read_text("utf-8")
    assert str(path) in capsys.readouterr().out
    assert "<title>two-link planar arm" in page
    assert page.count("<img ") >= 8
    assert "<math" in page
    assert "0.734" in page  # s, problem 7.9
