"""Charts of measurements: means with their intervals, pairs, sweeps."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from rag_core import format_value

TEAL, AMBER, GREY = "#0f6b6b", "#c98b1b", "#9aa5a4"
ROW = 42  # pixels
COLOURS = ("#2f7fb8", "#c98b1b", "#0f6b6b", "#8e6bbf", "#b8543a", "#6f9a3c", "#555555")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x", "pentagon")


def intervals(rows: Mapping[str, Mapping[str, float] | None], title: str) -> go.Figure:
    """One dot and its 95 % interval per strategy, best on top."""
    known = {label: row for label, row in rows.items() if row}
    labels = sorted(known, key=lambda label: known[label]["mean"])
    figure = go.Figure(
        go.Scatter(
            x=[known[label]["mean"] for label in labels],
            y=[_wrapped(label) for label in labels],
            mode="markers",
            marker={"color": TEAL, "size": 11},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [known[label]["ci_high"] - known[label]["mean"] for label in labels],
                "arrayminus": [known[label]["mean"] - known[label]["ci_low"] for label in labels],
                "color": TEAL,
                "thickness": 2,
            },
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
        )
    )
    figure.update_xaxes(title=f"{title}, mean and 95 % interval")
    return _dressed(figure, 110 + ROW * len(labels))


def groups(members: Mapping[str, Any], metric: str, title: str, titles: Mapping[str, str]) -> go.Figure:
    """Means by group of questions, one colour per strategy, with intervals. `titles` are by label."""
    figure = go.Figure()
    labels = list(next(iter(members.values()))["strategies"])
    names = [f"{name} (n {row['queries']})" for name, row in members.items()]
    for label in labels:
        values = [row["strategies"][label][metric] for row in members.values()]
        figure.add_scatter(
            x=[value["mean"] if value else None for value in values],
            y=names,
            mode="markers",
            name=_wrapped(titles[label], 44),
            orientation="h",  # with scattermode "group": side by side, not one over the other
            offsetgroup=label,
            marker={"size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [value["ci_high"] - value["mean"] if value else None for value in values],
                "arrayminus": [value["mean"] - value["ci_low"] if value else None for value in values],
                "thickness": 1,
            },
            hovertemplate=f"{titles[label]}, %{{y}}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(
        scattermode="group",
        colorway=list(COLOURS),
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=title)
    return _dressed(figure, 140 + 17 * len(labels) * len(names) + 14 * len(names))


def pairs(comparisons: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> go.Figure:
    """Every pair: row minus column; darker where the difference is probably real.

    Args:
        names: label -> title; the columns have the rows' numbers, which leaves them their width.
    """
    labels, size = list(names), len(names)
    values: list[list[float | None]] = [[None] * size for _ in labels]
    texts = [[""] * size for _ in labels]
    for pair in comparisons:
        a, b = labels.index(pair["a"]), labels.index(pair["b"])
        if pair["difference"] is None:
            continue
        for row, column, sign in ((a, b, 1), (b, a, -1)):
            values[row][column] = sign * pair["difference"]
            p = "" if pair["p_holm"] is None else f"<br>p {p_text(pair['p_holm'])}"
            real = " ✓" if pair["different"] else ""
            texts[row][column] = f"{sign * pair['difference']:+.3f}{real}{p}"
    most = max((abs(value) for line in values for value in line if value is not None), default=1.0) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=values, x=[str(place) for place in range(1, size + 1)],
            y=[f"{place} · {_wrapped(name)}" for place, name in enumerate(names.values(), start=1)], text=texts, texttemplate="%{text}", zmin=-most, zmax=most,
            colorscale=[[0, "#e3b7a8"], [0.5, "#f7f7f5"], [1, "#a9d3cf"]], showscale=False, hoverinfo="skip",
        )
    )  # fmt: skip
    figure.update_xaxes(type="category", side="top")
    figure.update_yaxes(autorange="reversed")
    return _dressed(figure, 90 + 62 * size)


def p_text(p: float) -> str:
    """A p value as it is shown."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def curve(settings: Sequence[Mapping[str, Any]], control: str, title: str) -> go.Figure:
    """The best score at each value of one control, the others free, with its interval."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in settings:
        value = format_value(row["controls"][control])
        if value not in best or row["score"]["mean"] > best[value]["score"]["mean"]:
            best[value] = row
    rows = sorted(best.values(), key=lambda row: _place(row["controls"][control]))
    values = [row["controls"][control] for row in rows]
    scores = [row["score"] for row in rows]
    figure = go.Figure()
    if all(_is_number(value) for value in values):
        figure.add_scatter(
            x=[*values, *reversed(values)],
            y=[score["high"] for score in scores] + [score["low"] for score in reversed(scores)],
            fill="toself", fillcolor="rgba(15,107,107,.15)", line={"width": 0}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
        figure.add_scatter(
            x=values, y=[score["mean"] for score in scores], mode="lines+markers", line={"color": TEAL},
            showlegend=False, hovertemplate=f"{control} %{{x}}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    else:  # names have no order that a line could follow
        figure.add_scatter(
            x=[_wrapped(format_value(value)) for value in values], y=[score["mean"] for score in scores],
            mode="markers", marker={"color": TEAL, "size": 11}, showlegend=False,
            error_y={
                "type": "data", "symmetric": False, "color": TEAL,
                "array": [score["high"] - score["mean"] for score in scores],
                "arrayminus": [score["mean"] - score["low"] for score in scores],
            },
            hovertemplate=f"{control} %{{x}}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
        figure.update_xaxes(type="category")
    figure.update_xaxes(title=control)
    figure.update_yaxes(title=title)
    return _dressed(figure, 340)


def heat(settings: Sequence[Mapping[str, Any]], x: str, y: str, title: str) -> go.Figure:
    """The best score at each pair of values of two controls, the others free."""
    best: dict[tuple[str, str], float] = {}
    places: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for row in settings:
        pair = (format_value(row["controls"][x]), format_value(row["controls"][y]))
        for text, name, held in zip(pair, (x, y), places, strict=True):
            held[text] = _place(row["controls"][name])
        best[pair] = max(best.get(pair, float("-inf")), row["score"]["mean"])
    xs, ys = (sorted(held, key=lambda text: held[text]) for held in places)
    figure = go.Figure(
        go.Heatmap(
            z=[[best.get((one, other)) for one in xs] for other in ys],
            x=[_wrapped(text) for text in xs],
            y=[_wrapped(text) for text in ys],
            colorscale="Teal",
            colorbar={"title": title},
            hovertemplate=f"{x} %{{x}}, {y} %{{y}}: %{{z:.3f}}<extra></extra>",
        )
    )
    figure.update_xaxes(title=x, type="category")
    figure.update_yaxes(title=y, type="category")
    return _dressed(figure, 380)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(value: object) -> tuple[float, str]:
    """Where a control's value stands on an axis: numbers by size, the rest by name."""
    return (float(value), "") if isinstance(value, int | float) else (0.0, format_value(value))


def pareto(points: Sequence[Mapping[str, Any]], title: str) -> go.Figure:
    """Score against seconds; the front joined by a line. Points: name, mean, seconds, cost_usd, front.

    The names stand in the legend, the best first, because names beside close points lie over each other.
    """
    figure = go.Figure()
    front = sorted((point for point in points if point["front"]), key=lambda point: point["seconds"])
    figure.add_scatter(
        x=[1000 * point["seconds"] for point in front], y=[point["mean"] for point in front], mode="lines",
        line={"color": AMBER, "dash": "dot"}, name="Pareto front (ringed)", hoverinfo="skip",
    )  # fmt: skip
    for place, point in enumerate(sorted(points, key=lambda point: -point["mean"])):
        figure.add_scatter(
            x=[1000 * point["seconds"]],
            y=[point["mean"]],
            mode="markers",
            marker={
                "size": 13,
                "color": COLOURS[place % len(COLOURS)],
                "symbol": SYMBOLS[place % len(SYMBOLS)],
                "line": {"color": AMBER if point["front"] else "white", "width": 3 if point["front"] else 1},
            },
            name=_wrapped(point["name"], 44),
            hovertemplate=f"{point['name']}<br>cost {_dollars(point['cost_usd'])} a question"
            "<br>%{y:.3f}, %{x:.0f} ms<extra></extra>",
        )
    slowest = max((1000 * point["seconds"] for point in points), default=1.0)
    figure.update_xaxes(title="milliseconds per question", range=[-0.08 * slowest, 1.12 * slowest])
    figure.update_yaxes(title=title)
    lines = sum(trace.name.count("<br>") + 1 for trace in figure.data)
    _dressed(figure, 340 + 22 * lines)
    # upright and below the axis, so that the plot has the whole width on a phone too
    figure.update_layout(
        legend={"orientation": "v", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
    )
    figure.update_layout(margin={"b": 60 + 22 * lines})
    return figure


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.5f}"


def _wrapped(name: str, width: int = 24) -> str:
    """A name on as many lines as it takes."""
    return "<br>".join(textwrap.wrap(name, width)) or name


def _dressed(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
    )
    figure.update_yaxes(automargin=True)
    return figure
