"""`write_study_report`: a study on one HTML page: designs drawn, the best of them, what moves the results.

What is chosen in the page is computed by its script, `study.js`; what holds for all of it stands in sections,
also without JavaScript.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.description.writing.toml import toml_line
from armdyn.drawing.errors import ReportError, check
from armdyn.files import write_whole
from armdyn.names import file_stem, listed, one_line
from armdyn.progress import progress_bar, stage
from armdyn.report.page import (
    Amount,
    Day,
    KeyFigure,
    Live,
    Made,
    Markup,
    Page,
    Part,
    facts,
    number,
    paragraph,
    scrolling,
    table,
    tag,
)
from armdyn.studies.cases import meaning_of
from armdyn.studies.findings import costs_of, pareto_front, rank_correlations, sobol_indices
from armdyn.studies.store import NOT_RUN, Study

TITLE = "The designs"
OUTCOME = "outcome"
MOST_AXES = 10  # at first
MOST_KINDS = 40  # texts in a column that can be drawn
MOST_REASONS = 30  # of failures that are listed
MOST_RESULTS = 100  # whose sensitivities are listed
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")


def write_study_report(
    study: Study,
    path: str | Path,
    *,
    minimise: str | Iterable[str] = (),
    maximise: str | Iterable[str] = (),
    best: int = 10,
    date: Day = None,
    progress: bool | None = None,
) -> Path:
    """Write a page about a study and return its path: one HTML file that needs nothing else, nor a network.

    Every design as a line across axes, on which ranges can be drawn; two columns against each other, in the
    colours of a third; the Pareto front of objectives, and the `best` designs, each a robot file to save;
    Sobol indices of tables that `Cases.saltelli` drew, rank correlations of others, with intervals; failures
    by their reasons. `minimise` and `maximise` name the columns that are objectives when the page opens;
    others can be chosen in it. Results stand in it as 4-byte floats, about seven digits, where these tell the
    designs apart; cases with all digits. `date` and `progress` are those of `write_report`.
    """
    with progress_bar("study", progress):
        page = _page(study, minimise, maximise, best, date)
        return write_whole(path, page.html(), ReportError)


def _page(study: Study, minimise: Any, maximise: Any, best: int, date: Day) -> Page:
    if not len(study):
        raise ReportError("this study has no cases")
    best = check.whole_number("best", best, least=1)
    low, high = ([names] if isinstance(names, str) else list(names) for names in (minimise, maximise))
    if low or high:
        costs_of({**study.table, **study.results}, low, high)  # refuses
    name = "a study" if study.robot is None else study.robot.name
    made = Made.of(study.robot, date)
    if study.folder is not None:  # the robot's file is one of its own
        made = replace(made, source=study.folder.name)
    page = Page(f"{one_line(name)}: {_counted(len(study), 'design')}", _subtitle(study), made)
    page.answers = _answers(study, low, high)
    with stage("columns"):
        style = files("armdyn.report").joinpath("study.css").read_text("utf-8")
        script = files("armdyn.report").joinpath("study.js").read_text("utf-8")
        page.live = Live.of(TITLE, [script], page_data(study, low, high, best), style)
    page.add("columns", "What was varied, and what came out", _columns(study))
    with stage("sensitivities"):
        if parts := _sensitivities(study):
            page.add("sensitivities", "What moves the results", parts)
    if study.failed.any():
        page.add("failures", "Designs that failed", _failures(study))
    return page


def _answers(study: Study, low: Sequence[str], high: Sequence[str]) -> list[KeyFigure]:
    """Designs, those that no other beats, and the best of the first objectives."""
    failed = int(study.failed.sum())
    remark = f"{failed} failed" if failed else "none failed"
    if missing := int((~study.done).sum()):
        remark += f", {missing} not run yet"
    found = [KeyFigure("designs", f"{len(study)}", remark, "failures" if failed else "columns")]
    columns = {**study.table, **study.results}
    for name, sign, which in [*((x, 1, "least") for x in low), *((x, -1, "greatest") for x in high)][:2]:
        costs = sign * np.asarray(columns[name], float)
        if np.isfinite(costs).any():
            k = int(np.nanargmin(np.where(np.isfinite(costs), costs, np.nan)))
            value = number(float(columns[name][k]))
            found.append(KeyFigure(f"{which} {one_line(name)}", value, f"design {k}", "columns"))
    if len(low) + len(high) > 1:
        front = len(pareto_front(columns, low, high))
        found.append(KeyFigure("on the Pareto front", str(front), "no other is better in all objectives", ""))
    return found


def _subtitle(study: Study) -> str:
    return f"a study of {listed([one_line(name) for name in study.inputs[:8]])}" + ", …" * (
        len(study.inputs) > 8
    )


def _counted(n: int, what: str) -> str:
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + f" {what}{'' if n == 1 else 's'}"


# ------------------------------------------------------------------------------------------------------------
# What the script is given.


def page_data(study: Study, minimise: Sequence[str], maximise: Sequence[str], best: int) -> dict[str, Any]:
    """Columns as bytes in base64, which of them are axes and objectives at first, and the robot file."""
    names = unique_names(study)
    columns = [_column(name, study.table[name], "case") for name in study.inputs]
    columns += [_column(name, study.results[name], "result") for name in study.outputs]
    columns.append(_column(names[-1], outcomes(study), "outcome"))
    place = {name: k for k, name in reversed(list(enumerate(names)))}
    goals = [(place[name], 1) for name in minimise] + [(place[name], -1) for name in maximise]
    return {
        "rows": len(study),
        "columns": columns,
        "outcome": len(columns) - 1,
        "failed": int(study.failed.sum()),
        "notRun": int((~study.done).sum()),
        "waiting": columns[-1]["labels"].index(NOT_RUN) if NOT_RUN in columns[-1]["labels"] else -1,
        "axes": _axes(columns, [k for k, _ in goals]),
        "goals": goals,
        "scatter": _scatter(columns, [k for k, _ in goals]),
        "best": best,
        "robot": _robot_file(study, place),
        "stem": file_stem(study.robot.name if study.robot is not None else "", "design"),
    }


def unique_names(study: Study) -> list[str]:
    """Names of the page's columns: cases, results, and how each case ended."""
    names = [*study.inputs, *study.outputs]
    return [*names, OUTCOME if OUTCOME not in names else f"{OUTCOME} of the case"]


def _column(name: str, x: np.ndarray, kind: str) -> dict[str, Any]:
    """Numbers; or, of texts, the place of each in the list of them."""
    labels = None
    if x.dtype.kind == "U":
        found, x = np.unique(x, return_inverse=True)
        labels = [one_line(text) for text in found.tolist()]
        if kind == OUTCOME:  # finished ones come first
            labels, x = _first("finished", labels, x)
        labels = labels if len(labels) <= MOST_KINDS else [*labels[: MOST_KINDS - 1], "others"]
        x = np.minimum(x, MOST_KINDS - 1)
    with np.errstate(over="ignore"):
        short = x.astype("<f4")
    single = kind != "case" and _is_enough(x.astype(float), short)
    return {
        "name": one_line(name),
        "kind": kind,
        "labels": labels,
        "single": single,
        "varies": bool(_spread(x.astype(float)) > 0),
        "values": b64encode((short if single else x.astype("<f8")).tobytes()).decode(),
    }


def _first(label: str, labels: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The same with one label, there already or not, in the first place."""
    order = [label, *(text for text in labels if text != label)]
    return order, np.array([order.index(text) for text in labels])[codes]


def _spread(x: np.ndarray) -> float:
    finite = x[np.isfinite(x)]
    return float(np.ptp(finite)) if len(finite) else 0.0


def _is_enough(x: np.ndarray, short: np.ndarray) -> bool:
    """Whether four bytes tell the numbers of a column apart as far as a page shows them."""
    finite = np.isfinite(x)
    if not finite.any():
        return True
    away = np.abs(short[finite].astype(float) - x[finite]).max()
    return bool(away <= 1e-5 * np.ptp(x[finite]))


def _axes(columns: Sequence[dict[str, Any]], goals: Sequence[int]) -> list[int]:
    """Axes that the page has at first: what was varied, the objectives, results as long as there is room."""
    varied = [k for k, column in enumerate(columns) if column["varies"]]
    cases = [k for k in varied if columns[k]["kind"] == "case"][: MOST_AXES - 2]
    results = [k for k in varied if columns[k]["kind"] == "result" and k not in goals]
    found = [*cases, *(k for k in goals if k not in cases)]
    found = sorted({*found, *results[: max(0, MOST_AXES - len(found))]})
    return found or [0]


def _scatter(columns: Sequence[dict[str, Any]], goals: Sequence[int]) -> list[int]:
    """Columns across, up and in colours: two objectives; or what is varied and a result of it."""
    cases, results = ([k for k, c in enumerate(columns) if c["kind"] == kind] for kind in ("case", "result"))
    if len(goals) > 1:
        x, y = goals[:2]
    else:
        y = goals[0] if goals else (results or cases)[0]
        x = next((k for k in cases if k != y and columns[k]["varies"]), y)
    further = [*goals[2:], *(k for k in cases if columns[k]["varies"])]
    return [x, y, next((k for k in further if k not in (x, y)), -1)]


def outcomes(study: Study) -> np.ndarray:
    """How each case ended: finished, not run yet, or why it failed, with "…" for the numbers in it."""
    texts, which = np.unique(study.reasons, return_inverse=True)
    said = [text if text == NOT_RUN else _NUMBER.sub("…", text) or "finished" for text in texts.tolist()]
    return np.array(said)[which]


def _robot_file(study: Study, place: dict[str, int]) -> dict[str, Any] | None:
    """The text of a robot file in pieces; between them the columns whose numbers stand there."""
    if study.robot is None:
        return None
    meaning = meaning_of(study.robot, study.inputs, study.own)
    assert meaning.robot is not None
    lines = [toml_line(symbol, 0)[:-1] for symbol in meaning.symbols.values()]  # "a2 = "
    columns = dict(zip(lines, meaning.symbols, strict=True))
    pieces: list[str | int] = [""]
    within = False
    for line in study.robot_of(int(np.argmax(~study.failed))).to_toml().splitlines():
        within = line == "[symbols]" or (within and not line.startswith("["))
        start = next((start for start in columns if within and line.startswith(start)), None)
        if start is None:
            pieces[-1] = f"{pieces[-1]}{line}\n"
        else:
            pieces[-1] = f"{pieces[-1]}{start}"
            pieces += [place[columns.pop(start)], "\n"]
    assert not columns
    return {"pieces": pieces}


# ------------------------------------------------------------------------------------------------------------
# Sections.


def _columns(study: Study) -> list[Part]:
    ended = [("cases", _counted(len(study), "design")), ("failed", f"{study.failed.sum()}")]
    if missing := int((~study.done).sum()):
        ended.append(("not run yet", f"{missing}"))
    if study.design:
        ended.append(("drawn by", str(study.design.get("kind", ""))))
    return [facts(ended), _summary("cases", study.table), _summary("results", study.results)]


def _summary(title: str, columns: dict[str, np.ndarray]) -> Markup:
    if not columns:
        return paragraph(f"There are no {title}.")
    rows: list[list[str | Amount]] = []
    for name, x in columns.items():
        if x.dtype.kind == "U":
            kinds = np.unique(x)
            texts = listed([str(text) for text in kinds[:6]]) + ", …" * (len(kinds) > 6)
            rows.append([one_line(name), "", "", "", texts])
            continue
        finite = x[np.isfinite(x)]
        ends = np.quantile(finite, [0, 0.5, 1]) if len(finite) else [np.nan] * 3
        rows.append([one_line(name), *(Amount(float(end), 5) for end in ends), ""])
    heads = [title, "least", "median", "greatest", "texts"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return table(heads, rows)


def _sensitivities(study: Study) -> list[Part]:
    """Tables with a row for each result; nothing where nothing was varied, or nothing came out."""
    varied = [name for name, x in study.table.items() if x.dtype.kind != "U" and _spread(x) > 0]
    results = {
        name: x for name, x in list(study.results.items())[:MOST_RESULTS] if _spread(np.asarray(x, float)) > 0
    }
    if not varied or not results:
        return []
    kept = [] if len(study.results) <= MOST_RESULTS else [paragraph(f"The first {MOST_RESULTS} results.")]
    if study.design.get("kind") == "saltelli":
        return [*kept, *_sobol(study, results)]
    found = rank_correlations({name: study.table[name] for name in varied}, results)
    text = (
        "Spearman's rank correlations of what was varied with what came out: 1 where a result only grows "
        "with a column, −1 where it only falls, 0 where neither shows. Below each the interval that holds it "
        "with 95 %. A column that acts both ways, or only with others, does not show here; Sobol indices "
        "of cases drawn for them (saltelli) tell."
    )
    values, ends = found.values.T, found.intervals.transpose(2, 1, 0)
    return [*kept, paragraph(text), _matrix("result", found.columns, found.results, values, ends)]


def _sobol(study: Study, results: dict[str, np.ndarray]) -> list[Part]:
    n, names = study.design["n"], list(study.design["columns"])
    found, missing = {}, []
    for name, x in results.items():
        blocks = x.reshape(len(names) + 2, n)
        if np.isfinite(blocks).all(0).sum() < 2:
            missing.append(name)
            continue
        found[name] = sobol_indices(blocks[0], blocks[1], blocks[2:])
    text = (
        "Sobol indices: the share of a result's variance that comes from each column by itself, and in all, "
        "together with others. Where the second is larger, the column acts through what another one is. "
        "Below each the interval of the bootstrap that holds it with 95 %."
    )
    parts: list[Part] = [paragraph(text)]
    if fewer := sorted({one.n for one in found.values() if one.n < n}):
        parts.append(
            paragraph(f"Designs failed: of some results, {fewer[0]} of {n} groups of runs are complete.")
        )
    for title, what in (("By itself", "first"), ("In all", "total")):
        values = np.array([getattr(one, what) for one in found.values()])
        ends = np.array([getattr(one, f"{what}_interval").T for one in found.values()])
        if len(values):
            parts += [tag("h3", title), _matrix("result", names, list(found), values, ends)]
    if missing:
        parts.append(
            paragraph(f"Too few designs are complete for {listed([one_line(name) for name in missing])}.")
        )
    return parts


def _matrix(
    corner: str, columns: Sequence[str], rows: Sequence[str], values: np.ndarray, ends: np.ndarray
) -> Markup:
    """A table of shares (rows, columns), each with a bar and its interval (rows, columns, 2)."""
    head = [tag("th", text, scope="col") for text in (corner, *map(one_line, columns))]
    body = [
        tag(
            "tr",
            tag("th", one_line(name), scope="row"),
            *(_share(*one) for one in zip(values[i], ends[i], strict=True)),
        )
        for i, name in enumerate(rows)
    ]
    return scrolling(tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="shares"))


def _share(x: float, ends: np.ndarray) -> Markup:
    if not np.isfinite(x):
        return tag("td", "–")
    size = f"--share: {100 * min(abs(x), 1):.1f}%"
    between = f"{_two(ends[0])} to {_two(ends[1])}" if np.isfinite(ends).all() else "\N{NO-BREAK SPACE}"
    kind = "less" if x < 0 else "more"
    return tag("td", tag("span", _two(x), style=size, class_=kind), tag("small", between))


def _two(x: float) -> str:
    return f"{x:.2f}".replace("-0.00", "0.00").replace("-", "−")


def failures(study: Study) -> list[tuple[str, np.ndarray]]:
    """Why cases failed, the most frequent reason first, and which (k,); reasons that differ in numbers only
    are one.
    """
    said, cases = outcomes(study)[study.failed], np.flatnonzero(study.failed)
    kinds, which, many = np.unique(said, return_inverse=True, return_counts=True)
    grouped = [cases[which == k] for k in np.lexsort((kinds, -many))]
    return [(one_line(str(study.reasons[mine[0]])), mine) for mine in grouped]


def _failures(study: Study) -> list[Part]:
    kinds = failures(study)
    rows: list[list[str | Amount]] = []
    for reason, cases in kinds[:MOST_REASONS]:
        which = ", ".join(str(case) for case in cases[:8].tolist()) + ", …" * (len(cases) > 8)
        rows.append([tag("span", reason, class_="reason"), Amount(len(cases), 6), which])
    failed = int(study.failed.sum())
    lead = f"{_counted(failed, 'design')} of {len(study)} failed; the others were computed all the same."
    if failed > len(kinds):
        lead += " Reasons that differ in numbers only count as one, and the first is shown."
    parts: list[Part] = [paragraph(lead), table(["reason", "designs", "cases"], rows)]
    if len(kinds) > MOST_REASONS:
        parts.append(paragraph(f"{len(kinds) - MOST_REASONS} more reasons are not listed."))
    return parts
