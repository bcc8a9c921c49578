"""Charts of measurements: means with their intervals, pairs, sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

TEAL, AMBER, GREY = "#0f6b6b", "#c98b1b", "#9aa5a4"
ROW = 42  # pixels


def intervals(rows: Mapping[str, Mapping[str, float] | None], title: str) -> go.Figure:
    """One dot and its 95 % interval per strategy, best on top."""
    known = {label: row for label, row in rows.items() if row}
    labels = sorted(known, key=lambda label: known[label]["mean"])
    figure = go.Figure(
        go.Scatter(
            x=[known[label]["mean"] for label in labels],
            y=labels,
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


def groups(members: Mapping[str, Any], metric: str, title: str) -> go.Figure:
    """Means by group of questions, one colour per strategy, with intervals."""
    figure = go.Figure()
    labels = list(next(iter(members.values()))["strategies"])
    names = [f"{name} (n {row['queries']})" for name, row in members.items()]
    for label in labels:
        values = [row["strategies"][label][metric] for row in members.values()]
        figure.add_scatter(
            x=[value["mean"] if value else None for value in values],
            y=names,
            mode="markers",
            name=label,
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
            hovertemplate=f"{label}, %{{y}}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(
        scattermode="group",
        colorway=["#2f7fb8", "#c98b1b", "#0f6b6b", "#8e6bbf", "#b8543a", "#6f9a3c", "#555"],
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=title)
    return _dressed(figure, 140 + 17 * len(labels) * len(names) + 14 * len(names))


def pairs(comparisons: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> go.Figure:
    """Every pair: row minus column; darker where the difference is probably real."""
    size = len(labels)
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
            z=values, x=list(labels), y=list(labels), text=texts, texttemplate="%{text}", zmin=-most, zmax=most,
            colorscale=[[0, "#e3b7a8"], [0.5, "#f7f7f5"], [1, "#a9d3cf"]], showscale=False, hoverinfo="skip",
        )
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    return _dressed(figure, 90 + 62 * size)


def p_text(p: float) -> str:
    """A p value as it is shown."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def curve(settings: Sequence[Mapping[str, Any]], control: str, title: str) -> go.Figure:
    """The best score at each value of one control, the others free, with its interval."""
    best: dict[float, Mapping[str, Any]] = {}
    for row in settings:
        value = row["controls"][control]
        if value not in best or row["score"]["mean"] > best[value]["score"]["mean"]:
            best[value] = row
    xs = sorted(best)
    scores = [best[x]["score"] for x in xs]
    figure = go.Figure()
    figure.add_scatter(
        x=[*xs, *reversed(xs)],
        y=[score["high"] for score in scores] + [score["low"] for score in reversed(scores)],
        fill="toself", fillcolor="rgba(15,107,107,.15)", line={"width": 0}, hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=xs, y=[score["mean"] for score in scores], mode="lines+markers", line={"color": TEAL},
        showlegend=False, hovertemplate=f"{control} %{{x}}: %{{y:.3f}}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=control)
    figure.update_yaxes(title=title)
    return _dressed(figure, 340)


def heat(settings: Sequence[Mapping[str, Any]], x: str, y: str, title: str) -> go.Figure:
    """The best score at each pair of values of two controls, the others free."""
    best: dict[tuple[Any, Any], float] = {}
    for row in settings:
        place = (row["controls"][x], row["controls"][y])
        best[place] = max(best.get(place, float("-inf")), row["score"]["mean"])
    xs, ys = sorted({place[0] for place in best}), sorted({place[1] for place in best})
    figure = go.Figure(
        go.Heatmap(
            z=[[best.get((one, other)) for one in xs] for other in ys],
            x=[str(value) for value in xs],
            y=[str(value) for value in ys],
            colorscale="Teal",
            colorbar={"title": title},
            hovertemplate=f"{x} %{{x}}, {y} %{{y}}: %{{z:.3f}}<extra></extra>",
        )
    )
    figure.update_xaxes(title=x, type="category")
    figure.update_yaxes(title=y, type="category")
    return _dressed(figure, 380)


def pareto(points: Sequence[Mapping[str, Any]], title: str, *, named: bool) -> go.Figure:
    """Score against seconds; the front joined by a line. Points: name, mean, seconds, cost_usd, front."""
    figure = go.Figure()
    front = sorted((point for point in points if point["front"]), key=lambda point: point["seconds"])
    figure.add_scatter(
        x=[1000 * point["seconds"] for point in front], y=[point["mean"] for point in front], mode="lines",
        line={"color": AMBER, "dash": "dot"}, name="Pareto front", hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=[1000 * point["seconds"] for point in points],
        y=[point["mean"] for point in points],
        mode="markers+text",
        marker={"size": 12, "color": [AMBER if point["front"] else GREY for point in points]},
        text=[point["name"] for point in points] if named else None,
        textposition="top center",
        hovertext=[f"{point['name']}<br>cost {_dollars(point['cost_usd'])} a question" for point in points],
        hovertemplate="%{hovertext}<br>%{y:.3f}, %{x:.0f} ms<extra></extra>",
        showlegend=False,
    )
    slowest = max((1000 * point["seconds"] for point in points), default=1.0)
    figure.update_xaxes(title="milliseconds per question", range=[-0.08 * slowest, 1.12 * slowest])
    figure.update_yaxes(title=title)
    return _dressed(figure, 360)


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.5f}"


def _dressed(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
    )
    figure.update_yaxes(automargin=True)
    return figure
