"""Saved fits: equal predictions to the last bit; damaged files and other versions refused in words."""

import warnings
from copy import deepcopy
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args, get_type_hints

import numpy as np
import pytest

from armdyn import Fit, Robot, identify
from armdyn.identification import IdentificationError, IdentificationWarning, fit_file
from arms import law, robots
from closed_chains import four_bar_table, reference
from fit_logs import moved, small_arm
from golden_messages import golden_error
from simulated_logs import log_of, motion_of

PLAIN = {"friction": "plain", "damping": 0.0}


@pytest.fixture(scope="module")
def fit():
    arm = small_arm()
    return identify(arm, moved(arm, 2, exact=False), validate=moved(arm, 12, exact=False, duration=4.0))


@pytest.fixture(scope="module")
def file(fit, tmp_path_factory):
    return fit.save(tmp_path_factory.mktemp("fits") / "fit.json")


def test_a_fit_read_and_the_fit_predict_the_same_bits(fit, file, tmp_path):
    again = Fit.load(file)
    log = moved(fit.described, 3, exact=False)
    assert np.array_equal(fit.predict(log), again.predict(log))
    assert str(again) == str(fit)
    assert again.robot == fit.robot
    assert again.described == fit.described
    assert np.array_equal(again.covariance, fit.covariance)
    assert again.save(tmp_path / "again.json").read_bytes() == file.read_bytes()


def lasts(fit, log, folder):
    again = Fit.load(fit.save(folder / "fit.json"))
    assert np.array_equal(fit.predict(log), again.predict(log))
    assert str(again) == str(fit)


def test_fits_with_what_the_data_leave_open_last(tmp_path):
    arm = small_arm()
    for options in ({"still": (0,)}, {"exact": False}):
        log = moved(arm, 1, duration=4.0, **options)
        lasts(identify(arm, log, method="robust", friction="plain"), log, tmp_path)


def test_fits_of_closed_chains_last(tmp_path):
    arm = Robot.from_dict(four_bar_table(friction={"viscous": 0.4, "coulomb": 0.6}))
    t, q, qd, qdd = motion_of(arm, duration=4.0, size=0.3)
    log = log_of(arm, (t, q - q.mean(0) + reference(arm), qd, qdd), np.random.default_rng(1), 0.01)
    lasts(identify(arm, log, **PLAIN), log, tmp_path)


@law(robots((1, 4)), examples=5)
def test_fits_of_random_arms_last(arm):
    log = log_of(arm, motion_of(arm, duration=4.0), np.random.default_rng(1), 0.01)
    with TemporaryDirectory() as folder:
        lasts(identify(arm, log, **PLAIN), log, Path(folder))


def test_the_file_says_what_it_was_made_from(fit, file):
    (digest,) = fit.logs
    assert (digest.name, digest.samples) == ("log", 1200)
    assert digest == identify(fit.described, moved(fit.described, 2, exact=False), **PLAIN).logs[0]
    assert (
        digest.sha256
        != identify(fit.described, moved(fit.described, 5, duration=4.0), **PLAIN).logs[0].sha256
    )
    text = file.read_text("utf-8")
    assert digest.sha256 in text
    assert '"armdyn": "' in text


def test_damaged_files_are_refused(file, tmp_path):
    """Cut anywhere, or with any bit another: one error, never another fit."""
    data, path, rng = file.read_bytes(), tmp_path / "fit.json", np.random.default_rng(0)
    cuts = [*range(0, 300, 7), *rng.integers(300, len(data), 60).tolist(), len(data) - 2, len(data) - 1]
    for cut in cuts:
        path.write_bytes(data[:cut])
        with pytest.raises(IdentificationError, match="damaged"):
            Fit.load(path)
    places = [*range(0, 8 * 180, 3), *rng.integers(0, 8 * len(data), 200).tolist()]
    for place in places:
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(IdentificationError, match=r"damaged|version \d+ of the format"):
            Fit.load(path)


def test_other_files_are_refused(file, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(file.read_bytes().replace(b'"version": 5,', b'"version": 7,', 1))
    with golden_error(IdentificationError):
        Fit.load(other)
    with golden_error(IdentificationError):
        Fit.load(tmp_path / "nowhere.json")
    with golden_error(IdentificationError):
        Fit.load(tmp_path)
    other.write_text('{"robot": "arm"}')
    with golden_error(IdentificationError):
        Fit.load(other)
    with golden_error(IdentificationError):
        Fit.load(Robot.load("planar").save(tmp_path / "robot.toml"))
    data = file.read_bytes()
    other.write_bytes(data[: len(data) // 2] + b" " + data[len(data) // 2 :])
    with golden_error(IdentificationError):
        Fit.load(other)


def test_a_file_of_wrong_content_is_refused(fit, tmp_path, monkeypatch):
    """With a right checksum: what is not of its type is named."""
    plain = fit_file._plain(fit)
    path = tmp_path / "fit.json"
    numbers = plain["scale"]["values"]
    for key, value in (
        ("method", 3),
        ("x", {"shape": [4], "kind": "float", "values": [1.0]}),
        ("x", {"shape": [3], "kind": "float", "values": numbers}),
        ("scale", []),
        ("scale", {"shape": [3], "kind": "float", "values": [*numbers[:2], "nan"]}),
        ("free", plain["free"] | {"values": [1, *plain["free"]["values"][1:]]}),
        ("scatter", {}),
        ("residuals", plain["residuals"][:2]),
    ):
        monkeypatch.setattr(fit_file, "_plain", lambda _, key=key, value=value: plain | {key: value})
        fit.save(path)
        with golden_error(IdentificationError):
            Fit.load(path)


def places(x, path=()):
    """Keys and numbers that lead to every value of a file, but for the inside of long lists."""
    inside = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) and len(x) < 60 else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.slow
def test_files_changed_by_hand_are_refused_or_predict(fit, tmp_path, monkeypatch):
    """Any value left out or replaced, under a right checksum: an error of ours, or a fit that works."""
    plain, path = fit_file._plain(fit), tmp_path / "fit.json"
    where, rng = list(places(plain)), np.random.default_rng(0)
    log = moved(fit.described, 3, exact=False, duration=2.0)
    others = [None, "nan", "inf", "-inf", -1, 0, 1e300, "text", [], {}, True, 3.5]
    refused = 0
    for _ in range(150):
        changed = deepcopy(plain)
        *above, last = where[rng.integers(len(where))]
        inner = changed
        for key in above:
            inner = inner[key]
        if rng.random() < 0.5:
            del inner[last]
        else:
            inner[last] = others[rng.integers(len(others))]
        with monkeypatch.context() as patch:
            patch.setattr(fit_file, "_plain", lambda _, changed=changed: changed)
            fit.save(path)
        try:
            found = Fit.load(path)
        except IdentificationError:
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentificationWarning)
            assert np.isfinite(found.predict(log, interval=0.9).tau).all()
        assert str(found)
    assert refused > 75


def saved_types(kind, found):
    """Every dataclass in a fit, with its fields."""
    for inner in get_args(kind):
        saved_types(inner, found)
    if is_dataclass(kind) and kind not in found:
        found[kind] = [field.name for field in fields(kind) if field.init]
        for inner in get_type_hints(kind).values():
            saved_types(inner, found)
    return found


# Fields that are added, renamed or dropped make old files unreadable: the version goes up with them.
FIELDS = {
    "Chosen": "problem friction damping cutoffs worth dampings greatest",
    "Coverage": "samples lowest highest squared_speeds forward backward greatest_acceleration "
    "least_torque greatest_torque",
    "Covers": "joints units here training slow slow_in_training leverage doubt outside",
    "Factors": "R rows",
    "Fit": "robot described x covariance_x open held model method free scale repeats factors singular_values "
    "training_error filtered_error residuals consistent consistency_cost remarks training scatter validation "
    "logs",
    "Friction": "width stribeck cubic asymmetry offset load rotor spring slow",
    "Instant": "residual time log",
    "JointResiduals": "samples rms torque_rms mean worst whiteness",
    "LogDigest": "name samples sha256",
    "Outside": "joint quantity here seen time log text",
    "Problem": "template cutoff loads slow",
    "Remark": "text kind place",
    "Scatter": "residuals greatest halves",
    "Template": "robot prior added",
    "Training": "coverage slow leverage matters keys logs",
    "Units": "position torque effort",
    "Validation": "error filtered_error errors joints covers overlap remarks",
    "Whiteness": "correlations statistic probability",
    "Worth": "joint term gain spread taken",
}


def test_the_version_of_the_format_and_the_fields_of_its_types():
    found = {kind.__name__: " ".join(names) for kind, names in saved_types(Fit, {}).items()}
    assert (fit_file.VERSION, found) == (5, FIELDS)
