"""armdyn identify: from files to a robot, a summary, JSON and a report."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from armdyn import Fit, Log, Robot, identify
from armdyn.identification import Friction
from arms import quietly
from commands import refused, run
from contact_logs import in_contact
from fit_logs import moved, small_arm
from simulated_logs import motion_of


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arm = small_arm()
    arm.save("arm.toml")
    for seed, name in ((2, "first"), (5, "second")):
        moved(arm, seed, name=name).save(f"{name}.csv")
    return arm


def test_identify_from_files(files):
    text = run(
        "identify", "arm.toml", "first.csv", "--validate", "second.csv", "--friction", "plain",
        "-o", "found.toml", "--report", "fit.html",
    )  # fmt: skip
    assert "% in validation (second" in text
    assert "covers      the validation data" in text
    assert "wrote found.toml" in text
    assert "wrote fit.html" in text
    found, q = quietly(lambda: Robot.load("found.toml")), np.random.default_rng(0).uniform(-1, 1, (20, 3))
    np.testing.assert_allclose(found.gravity(q), files.gravity(q), atol=0.5)
    np.testing.assert_allclose(found.inertia(q), files.inertia(q), atol=0.5)
    assert "small arm: parameters from data" in Path("fit.html").read_text("utf-8")


@pytest.mark.slow
def test_a_saved_fit_is_read_by_report(files, monkeypatch, capsys):
    plain = ("identify", "arm.toml", "first.csv", "--friction", "plain")
    assert "wrote fit.json" in run(*plain, "--save", "fit.json")
    fit, log = Fit.load("fit.json"), Log.load("second.csv")
    assert np.array_equal(
        fit.predict(log), identify(files, Log.load("first.csv"), friction="plain").predict(log)
    )
    run("report", "arm.toml", "--fit", "fit.json", "--log", "first.csv", "-o", "saved.html")
    run(*plain, "--report", "direct.html")
    assert Path("saved.html").read_text("utf-8") == Path("direct.html").read_text("utf-8")
    assert "joints column, slide, hand" in refused(
        monkeypatch, capsys, "report", "planar", "--fit", "fit.json"
    )
    assert "--log" in refused(monkeypatch, capsys, "report", "planar", "--log", "first.csv")
    assert "no motion" in refused(monkeypatch, capsys, "report", "arm.toml", "--fit", "fit.json", "--live")
    assert "--save: 'x.html' is also --report" in refused(
        monkeypatch, capsys, *plain, "--report", "x.html", "--save", "x.html"
    )


def test_terms_of_a_saved_fit_are_those_of_the_next(files):
    run("identify", "arm.toml", "first.csv", "--save", "old.json", "--cutoff", "8", "--damping", "0")
    run("identify", "arm.toml", "second.csv", "--friction", "old.json", "--save", "new.json")
    old, new = Fit.load("old.json"), Fit.load("new.json")
    assert old.model.friction == new.model.friction
    assert old.full_names == new.full_names


def test_drift_between_saved_fits(files, monkeypatch, capsys):
    for name in ("first", "second"):
        run("identify", "arm.toml", f"{name}.csv", "--friction", "plain", "--save", f"{name}.json")
    text = run("drift", "first.json", "second.json")
    assert "Fv1" in text
    assert "no base parameter changed" in text
    assert "no saved fit" in refused(monkeypatch, capsys, "drift", "first.json", "arm.toml")


def test_identify_as_json_has_only_json(files):
    plain = ("identify", "arm.toml", "first.csv", "--friction", "plain", "--json")
    found = json.loads(run(*plain))
    assert (found["consistent"], json.loads(run(*plain, "--free"))["consistent"]) == (True, False)
    assert found["robot"] == "small arm"
    assert found["training_error"] < 0.05
    assert found["validation"] is None


def test_columns_and_units(files):
    log = Log.load("first.csv")
    rows = np.column_stack([1000 * log.t, np.degrees(log.q), log.tau, log.qd, log.qdd])
    channels = ("angle", "effort", "speed", "sharp")
    names = ["stamp", *(f"{x}{j}" for x in channels for j in (1, 2, 3))]
    np.savetxt("odd.csv", rows, delimiter=",", header=",".join(names), comments="")
    options = [
        "--columns", "t=stamp", "--columns", "q=angle*", "--columns", "tau=effort1,effort2,effort3",
        "--columns", "qd=speed*", "--columns", "qdd=sharp*",
        "--units", "t=ms", "--units", f"q=deg,{np.pi / 180},deg",
    ]  # fmt: skip
    plain = json.loads(run("identify", "arm.toml", "first.csv", "--friction", "plain", "--json"))
    found = json.loads(run("identify", "arm.toml", "odd.csv", *options, "--friction", "plain", "--json"))
    assert found["training_error"] == pytest.approx(plain["training_error"], rel=1e-6)


def test_logs_in_contact_and_free_ones(files, monkeypatch, capsys):
    log = in_contact(files, motion_of(files, 3), frame="tip")
    names = ["fx", "fy", "fz", "mx", "my", "mz"]
    channels = [*(f"{x}{j}" for x in ("q", "tau", "qd", "qdd") for j in (1, 2, 3)), *names]
    rows = np.column_stack([log.t, log.q, log.tau, log.qd, log.qdd, -log.wrench])
    np.savetxt("pressed.csv", rows, delimiter=",", header=",".join(["t", *channels]), comments="")
    columns = [x for name in ("q", "tau", "qd", "qdd") for x in ("--columns", f"{name}={name}?")]
    columns += ["--columns", f"wrench={','.join(names)}", "--units", "wrench=-1", "--wrench-frame", "tip"]
    options = ["--friction", "plain", "--json"]
    found = json.loads(run("identify", "arm.toml", "pressed.csv", *columns, *options))
    assert found["training_error"] < 1e-9
    log.save("pressed.npz")  # which says in whose axes its wrench is
    found = json.loads(run("identify", "arm.toml", "pressed.npz", "first.csv", *options))
    assert found["training_error"] < 0.05
    line = refused(monkeypatch, capsys, "identify", "arm.toml", "first.csv", "--wrench-frame", "tip")
    assert "--wrench-frame: found 'tip', but no log has a wrench" in line


def test_wrong_input_is_one_line(files, monkeypatch, capsys):
    def line(*arguments):
        return refused(monkeypatch, capsys, "identify", "arm.toml", *arguments)

    assert "is also an input" in line("first.csv", "-o", "first.csv")
    assert line("first.csv", "--report", "nowhere/fit.html").startswith("error: --report: cannot write")
    assert "is also --output" in line("first.csv", "-o", "x.toml", "--report", "x.toml")
    rust = line("first.csv", "--friction", "rust")
    assert "--friction: expected choose, plain, given, a saved fit (.json), or of width=NUMBER, " in rust
    assert "offset=0, load, rotor=0, spring, slow=NUMBER; found 'rust'" in rust
    assert "--method" in line("first.csv", "--method", "guess")
    assert "--columns: expected CHANNEL=" in line("first.csv", "--columns", "angle*")
    assert "missing.csv" in line("missing.csv")
    assert "--cutoff: found -1.0; a positive number" in line("first.csv", "--cutoff", "-1")
    assert "a robot file's name ends with .toml" in line("missing.csv", "-o", "x.foo")


def test_a_log_is_judged_before_a_fit(files, monkeypatch, capsys):
    text = run("look", "arm.toml", "first.csv", "-o", "look.html")
    assert "what to record next" in text
    assert "wrote look.html" in text
    assert "What to record next" in Path("look.html").read_text("utf-8")
    found = json.loads(run("look", "arm.toml", "first.csv", "second.csv", "--json"))
    assert found["enough"]
    assert found["logs"] == ["first", "second"]
    run("look", "arm.toml", "first.csv", "-o", "look.svg")
    assert "<svg" in Path("look.svg").read_text("utf-8")


def test_options_are_those_of_the_call(files):
    log = Log.load("first.csv")
    replace(log, q=log.q - [0.3, 0.1, 0.2], tau=log.tau, name="off").save("off.csv")
    text = Path("off.csv").read_text("utf-8").replace(",", ";").replace(".", ",")
    Path("off.csv").write_text(text, "utf-8")
    options = [
        *("--zeros", "0.3, 0.1, 0.2", "--decimal", ",", "--damping", "0", "--parameters", "F*,m3"),
        *("--friction", "width=0.02,cubic", "--time", "1:6", "--time", "8:", "--validate", "rest"),
    ]
    found = json.loads(run("identify", "arm.toml", "off.csv", *options, "--json"))
    samples = (log.t >= 1) & (log.t < 6) | (log.t >= 8)
    wanted = identify(
        files, log, samples=samples, validate="rest", friction=Friction(width=0.02, cubic=True), damping=0,
        parameters=["F*", "m3"],
    )  # fmt: skip
    assert found["training_error"] == pytest.approx(wanted.training_error, rel=1e-6)
    assert found["validation"]["error"] == pytest.approx(wanted.validation.error, rel=1e-6)


def test_messages_speak_of_options(files, monkeypatch, capsys):
    log = Log.load("first.csv")
    replace(log, tau=-log.tau).save("reversed.csv")
    assert line_with("--units tau=-1 turns them", monkeypatch, capsys, "reversed.csv")
    still = log.q[:1] + 1e-5 * np.random.default_rng(0).normal(size=log.q.shape)
    Log(log.t, still, log.tau).save("still.csv")
    assert line_with("the arm stands still", monkeypatch, capsys, "still.csv")
    assert line_with("--validate: ", monkeypatch, capsys, "first.csv", "--validate", "rest", text="--time")


def line_with(words, monkeypatch, capsys, *arguments, text=""):
    line = refused(monkeypatch, capsys, "identify", "arm.toml", *arguments)
    return words in line and text in line
