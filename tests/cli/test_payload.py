"""armdyn payload: from files to a robot that carries what was found."""

from dataclasses import replace

import numpy as np

from armdyn import Log, Robot
from commands import refused, run
from contact_logs import in_contact
from payload_logs import fourier, measured, random_load, rubbing


def test_payload_from_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    arm = rubbing(Robot.load("panda"), rng)
    arm.save("arm.toml")
    load = random_load(rng)
    motion = fourier(7, rng, duration=12, rate=100)
    for name, robot in (("loaded", arm.with_payload(**load)), ("unloaded", arm)):
        log = measured(robot, motion, rng, 0.02)
        Log(log.t, log.q, log.tau).save(f"{name}.csv")
    text = run("payload", "arm.toml", "loaded.csv", "-o", "carrying.toml")
    assert "95 % interval" in text
    assert "wrote carrying.toml" in text
    carrying, q = Robot.load("carrying.toml"), rng.uniform(-1, 1, (20, 7))
    true = arm.with_payload(**load).gravity(q) - arm.gravity(q)
    assert np.linalg.norm(carrying.gravity(q) - arm.gravity(q) - true) < 0.02 * np.linalg.norm(true)
    text = run("payload", "arm.toml", "loaded.csv", "--unloaded", "unloaded.csv", "--mass", load["mass"])
    assert f"mass {load['mass']:.4g} kg (given)" in text
    assert "is also an input" in refused(
        monkeypatch, capsys, "payload", "arm.toml", "loaded.csv", "-o", "loaded.csv"
    )
    assert "--mass" in refused(monkeypatch, capsys, "payload", "arm.toml", "loaded.csv", "--mass", "-1")


def test_payload_in_contact_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    arm, load = Robot.load("puma560"), random_load(rng)
    moved = fourier(6, rng, duration=8, rate=100)
    log = in_contact(arm.with_payload(**load), moved, frame="tip")
    replace(log, wrench_frame="world").save("loaded.csv")  # a CSV file does not say
    text = run("payload", "puma560", "loaded.csv", "--wrench-frame", "tip")
    assert f"mass {load['mass']:.4g} kg" in text
