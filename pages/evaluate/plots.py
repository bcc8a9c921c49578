"""Charts of measurements: means with their intervals, pairs, sweeps."""

import itertools
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from pages.drawing.palette import colour
from pages.drawing.translate import in_words, t, translated
from pages.drawing.untrusted import mark, wrapped
from rag_core import evaluation as ev

LINE = 15  # pixels
NAME = 24  # characters of a line of a name
COLOURS = ("retrieve", "fuse", "accent", "transform", "rerank", "select", "grey")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x", "pentagon")


def intervals(rows: Mapping[str, ev.MeanScore | None], title: str) -> go.Figure:
    """One dot and its 95 % interval per strategy, best on top."""
    known = {label: row for label, row in rows.items() if row}
    labels = sorted(known, key=lambda label: known[label].mean)
    names = [wrapped(label, 28) for label in labels]
    heights = [2 * LINE + LINE * name.count("<br>") for name in names]  # no name touches another
    ends = list(itertools.accumulate(heights))
    middles = [end - height / 2 for end, height in zip(ends, heights, strict=True)]
    figure = go.Figure(
        go.Scatter(
            x=[known[label].mean for label in labels],
            y=middles,
            mode="markers",
            marker={"color": colour("accent"), "size": 11},
            error_x=_error_bars([known[label] for label in labels], color=colour("accent"), thickness=2),
            text=names,
            hovertemplate="%{text}: %{x:.3f}<extra></extra>",
        )
    )
    figure.update_xaxes(title=wrapped(t("{title}, mean and 95 % interval", title=title), 28))
    figure.update_yaxes(tickvals=middles, ticktext=names, range=[0, sum(heights)])
    return _styled(figure, 80 + sum(heights))


def groups(members: ev.Groups, metric: str, title: str, titles: Mapping[str, str]) -> go.Figure:
    """Means by group of questions, one colour per strategy, with intervals. `titles` are by label."""
    figure = go.Figure()
    labels = list(next(iter(members.values())).strategies)
    names = [mark(f"{name} (n {row.queries})") for name, row in members.items()]
    for label in labels:
        values = [row.strategies[label][metric] for row in members.values()]
        figure.add_scatter(
            x=[value.mean if value else None for value in values],
            y=names,
            mode="markers",
            name=wrapped(titles[label], 44),
            orientation="h",  # with scattermode "group": side by side, not one over the other
            offsetgroup=label,
            marker={"size": 9},
            error_x=_error_bars(values, thickness=1),
            hovertemplate=f"{mark(titles[label])}, %{{y}}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_layout(scattermode="group", colorway=[colour(name) for name in COLOURS])
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=mark(title))
    return _styled(figure, 140 + 17 * len(labels) * len(names) + 14 * len(names))


def pairs(comparisons: Sequence[ev.Comparison], names: Mapping[str, str]) -> go.Figure:
    """Every pair, row minus column, darker where probably different; columns have the rows' numbers."""
    labels, size = list(names), len(names)
    values: list[list[float | None]] = [[None] * size for _ in labels]
    texts = [[""] * size for _ in labels]
    for pair in comparisons:
        a, b = labels.index(pair.a), labels.index(pair.b)
        if pair.difference is None:
            continue
        for row, column, sign in ((a, b, 1), (b, a, -1)):
            values[row][column] = sign * pair.difference
            p = "" if pair.p_holm is None else f"<br>p {p_text(pair.p_holm)}"
            real = " ✓" if pair.different else ""
            texts[row][column] = f"{sign * pair.difference:+.3f}{real}{p}"
    most = max((abs(value) for line in values for value in line if value is not None), default=1.0) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=values, x=[str(place) for place in range(1, size + 1)],
            y=[f"{place} · {wrapped(name, NAME)}" for place, name in enumerate(names.values(), start=1)], text=texts, texttemplate="%{text}", zmin=-most, zmax=most,
            colorscale=[[0, colour("worse")], [0.5, colour("background")], [1, colour("better")]], showscale=False, hoverinfo="skip",
        )
    )  # fmt: skip
    figure.update_xaxes(type="category", side="top")
    figure.update_yaxes(autorange="reversed")
    return _styled(figure, 90 + 62 * size)


def p_text(p: float) -> str:
    """A p value as it is shown."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def curve(best: Sequence[ev.Setting], control: str, called: str, title: str) -> go.Figure:
    """The score of one setting per value of a control, in their order, with its interval."""
    values = [row.controls[control] for row in best]
    scores = [row.score for row in best]
    means = [score.mean for score in scores]
    figure = go.Figure()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        figure.add_scatter(
            x=[*values, *reversed(values)],
            y=[score.high for score in scores] + [score.low for score in reversed(scores)],
            fill="toself", fillcolor="rgba(15,107,107,.15)", line={"width": 0}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
        figure.add_scatter(
            x=values, y=means, mode="lines+markers", line={"color": colour("accent")},
            showlegend=False, hovertemplate=f"{mark(called)} %{{x}}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    else:  # names have no order for a line to follow
        bars = [ev.MeanScore(mean=score.mean, ci_low=score.low, ci_high=score.high) for score in scores]
        figure.add_scatter(
            x=[wrapped(in_words(value), NAME) for value in values], y=means, mode="markers",
            marker={"color": colour("accent"), "size": 11}, showlegend=False, error_y=_error_bars(bars, color=colour("accent")),
            hovertemplate=f"{mark(called)} %{{x}}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
        figure.update_xaxes(type="category")
    figure.update_xaxes(title=mark(called))
    figure.update_yaxes(title=mark(title))
    return _styled(figure, 340)


def heat(best: Sequence[ev.Setting], x: str, y: str, called: Sequence[str], title: str) -> go.Figure:
    """The score of one setting per pair of values of two controls, with their titles."""
    scores = {(in_words(row.controls[x]), in_words(row.controls[y])): row.score.mean for row in best}
    xs, ys = (
        list(dict.fromkeys(map(in_words, sorted((row.controls[name] for row in best), key=ev.value_order))))
        for name in (x, y)
    )
    figure = go.Figure(
        go.Heatmap(
            z=[[scores.get((column, row)) for column in xs] for row in ys],
            x=[wrapped(text, NAME) for text in xs],
            y=[wrapped(text, NAME) for text in ys],
            colorscale="Teal",
            colorbar={"title": mark(title)},
            hovertemplate=f"{mark(called[0])} %{{x}}, {mark(called[1])} %{{y}}: %{{z:.3f}}<extra></extra>",
        )
    )
    figure.update_xaxes(title=mark(called[0]), type="category")
    figure.update_yaxes(title=mark(called[1]), type="category")
    return _styled(figure, 380)


def _error_bars(scores: Sequence[ev.MeanScore | None], **style: object) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [score.ci_high - score.mean if score else None for score in scores],
        "arrayminus": [score.mean - score.ci_low if score else None for score in scores],
        **style,
    }


def pareto(points: Sequence[ev.Point], title: str) -> go.Figure:
    """Score against seconds, the front joined by a line; names are in the legend, since points lie close."""
    figure = go.Figure()
    front = sorted((point for point in points if point.front), key=lambda point: point.seconds)
    figure.add_scatter(
        x=[1000 * point.seconds for point in front], y=[point.mean for point in front], mode="lines",
        line={"color": colour("warn-line"), "dash": "dot"}, name=t("Pareto front (ringed)"), hoverinfo="skip",
    )  # fmt: skip
    for place, point in enumerate(sorted(points, key=lambda point: -point.mean)):
        name, cost = translated(point.name), "n/a" if point.cost_usd is None else f"${point.cost_usd:.5f}"
        figure.add_scatter(
            x=[1000 * point.seconds],
            y=[point.mean],
            mode="markers",
            marker={
                "size": 13,
                "color": colour(COLOURS[place % len(COLOURS)]),
                "symbol": SYMBOLS[place % len(SYMBOLS)],
                "line": {
                    "color": colour("warn-line") if point.front else colour("background"),
                    "width": 3 if point.front else 1,
                },
            },
            name=wrapped(name, 44),
            hovertemplate=f"{mark(name)}<br>{t('{cost} per question', cost=cost)}"
            "<br>%{y:.3f}, %{x:.0f} ms<extra></extra>",
        )
    slowest = max((1000 * point.seconds for point in points), default=1.0)
    figure.update_xaxes(title=t("milliseconds per question"), range=[-0.08 * slowest, 1.12 * slowest])
    figure.update_yaxes(title=mark(title))
    names = 5 * len(figure.data) + LINE * sum(trace.name.count("<br>") + 1 for trace in figure.data)
    _styled(figure, 340 + names)
    # one name per line below the axis, so that the plot has the full width on a phone too
    figure.update_layout(
        legend={"orientation": "v", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "maxheight": 1},
        margin={"b": 60 + names},
    )
    return figure


def _styled(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
    )
    figure.update_yaxes(automargin=True)
    return figure
