# SPDX-License-Identifier: Apache-2.0
"""Draw plots of a campaign as SVG images without scripts and URLs, for use in an HTML page.

Each drawing function takes a result of `tuner.report.analysis` and returns one `<svg>` element with colors from the
page's style sheet. `png` makes a PNG image instead.
"""

from __future__ import annotations

import hashlib
import io
import re
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any

from reprise.database.entities import Json
from reprise.tuner.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Placeholder for each color. In the SVG, it is replaced with the style sheet's variable for the color, which depends on
# whether the design is light or dark.
STAND_INS = {
    "ink": "#010101",
    "faint": "#020202",
    "default": "#030303",
    "search": "#040404",
    "tuned": "#050505",
    "bad": "#060606",
    "bound": "#070707",
}
ON_WHITE = {  # colors of a PNG image
    "ink": "#1c2430",
    "faint": "#5a6576",
    "default": "#6b7280",
    "search": "#2563c4",
    "tuned": "#0b7a41",
    "bad": "#c43030",
    "bound": "#b7791f",
}
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "reprise",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
COLOUR_OF = {
    "axes.edgecolor": "faint",
    "axes.labelcolor": "ink",
    "text.color": "ink",
    "xtick.color": "ink",
    "ytick.color": "ink",
}
DOTS_PER_INCH = 160
_DRAWING = threading.RLock()  # held while drawing: Matplotlib's settings apply to all of the threads that render pages
_PNG: ContextVar[list[bytes] | None] = ContextVar("png", default=None)


class _Colours:
    """Colors of the current drawing by name: placeholders for SVG, real colors for PNG."""

    def __getitem__(self, name: str) -> str:
        return (STAND_INS if _PNG.get() is None else ON_WHITE)[name]


COLOURS = _Colours()
WIDE, HIGH = 5.2, 2.7  # width and height of a picture in inches; the page scales it
TICKS = 14  # maximum number of labeled values on an axis
LOG_RANGE = 8.0  # the axis is logarithmic if the largest value is more than this many times the smallest
TICK_LENGTH = 18  # maximum number of characters in a label
ROOM = 45  # maximum total number of characters in labels; if there are more, labels are slanted

# Appearance of trials, as (label, condition, marker, color)
MARKS: Sequence[tuple[str, Mapping[str, Any], str, str]] = (
    ("default", {"role": "default"}, "s", "default"),
    ("search", {"role": "search", "again": False}, "o", "search"),
    ("search, repeated", {"role": "search", "again": True}, "d", "search"),
    ("final, default", {"role": "final-default"}, "s", "default"),
    ("final, winner", {"role": "final-tuned"}, "D", "tuned"),
)


def png(draw: Callable[[], str]) -> bytes:
    """Return a PNG image of the plot that `draw` makes by calling a drawing function of this module."""
    made: list[bytes] = []
    token = _PNG.set(made)
    try:
        draw()
    finally:
        _PNG.reset(token)
    return made[-1]


def trajectory(of: Json, default: Json | None) -> str:
    """Draw all trials in the order in which they ended.

    Failed trials are drawn at the upper edge. Trials that were stopped early are marked as lower bounds.
    """
    trials = of["trajectory"]
    factor, unit = words.scale_of([one["value"] for one in trials if one["value"] is not None], of["unit"])
    with figure("All trials, in the order in which they ended") as (axes, finish):
        for label, wanted, marker, colour in MARKS:
            chosen = [
                (number, one["value"] * factor)
                for number, one in enumerate(trials, 1)
                if one["state"] == "complete" and _is(one, wanted)
            ]
            _points(axes, chosen, label, marker, colour)
        bounds = [(number, one["value"] * factor) for number, one in enumerate(trials, 1) if _is_bound(one)]
        _points(axes, bounds, "stopped early: at least", "^", "bound")
        _value_axis(axes, f"value in {unit}")
        failed = [number for number, one in enumerate(trials, 1) if one["value"] is None]
        if failed:
            top = axes.get_ylim()[1]
            _points(axes, [(number, top) for number in failed], "failed", "x", "bad")
            axes.set_ylim(top=top)
        if default:
            level(axes, default["mean"] * factor, "default")
        axes.set_xlabel("trial")
        _whole_numbers(axes)
        legend(axes)
        return finish()


def best_so_far(of: Json, default: Json | None, evaluations: int) -> str:
    """Draw the lowest value so far against the number of evaluations in the search."""
    steps = of["best_so_far"]
    factor, unit = words.scale_of([one["value"] for one in steps], of["unit"])
    with figure("The lowest value so far") as (axes, finish):
        x = [one["evaluations"] for one in steps] + [max(evaluations, 1)]
        y = [one["value"] * factor for one in steps]
        axes.step(x, [*y, *y[-1:]], where="post", color=COLOURS["search"], linewidth=1.6)
        axes.plot(x[:-1], y, "o", color=COLOURS["search"], markersize=3.5)
        if default:
            level(axes, default["mean"] * factor, "default")
        axes.margins(y=0.1)
        axes.set_xlim(0, max(x) + 1)
        axes.set_xlabel("evaluation of the search")
        axes.set_ylabel(f"value in {unit}")
        _whole_numbers(axes)
        return finish()


def effect(found: Json, unit: str) -> str:
    """Draw the median, the quartiles and the best of the results at each value of a parameter."""
    values = found["values"]
    factor, unit = words.scale_of([one["high"] for one in values], unit)
    places = list(range(len(values)))
    columns = {key: [one[key] * factor for one in values] for key in ("median", "low", "high", "best")}
    with figure(f"Effect of {words.shown(found['name'])}") as (axes, finish):
        if found["kind"] == "category":
            axes.vlines(places, columns["low"], columns["high"], color=COLOURS["search"], linewidth=5, alpha=0.35)
            axes.plot(places, columns["median"], "o", color=COLOURS["search"], markersize=5, label="median")
        else:
            axes.fill_between(places, columns["low"], columns["high"], color=COLOURS["search"], alpha=0.2, linewidth=0)
            axes.plot(places, columns["median"], "o-", color=COLOURS["search"], markersize=3.5, label="median")
        axes.plot(places, columns["best"], "_", color=COLOURS["tuned"], markersize=9, label="best")
        _value_axis(axes, f"value in {unit}")
        _named(axes, [one["value"] for one in values])
        axes.set_xlabel(words.shown(found["name"]))
        legend(axes)
        return finish()


def drift(of: Sequence[Json]) -> str:
    """Draw the default's runs over time for all problems, relative to the default's mean before the search."""
    with figure("The default over time") as (axes, finish):
        for one in of:
            mean = one["before"]["mean"]
            x = [run["hours"] for run in one["runs"]]
            axes.plot(
                x,
                [100 * (run["value"] / mean - 1) for run in one["runs"]],
                "s-",
                color=COLOURS["default"],
                markersize=3,
                linewidth=0.6,
            )
        level(axes, 0.0, "ink")
        axes.set_xlabel("hours since the start of the campaign")
        axes.set_ylabel("slower than before, %")
        return finish()


def noise(repeated: Sequence[Json]) -> str:
    """Draw all runs of each repeated point relative to the point's mean, the least noisy points first."""
    ordered = sorted(repeated, key=lambda one: one["variation"])
    runs = [
        (place, 100 * (value / statistics.fmean(one["values"]) - 1))
        for place, one in enumerate(ordered, 1)
        for value in one["values"]
    ]
    with figure("Runs of the same settings") as (axes, finish):
        _points(axes, runs, "a run", "o", "search")
        level(axes, 0.0, "ink")
        axes.set_xlabel("repeated points, those with the least noise first")
        axes.set_ylabel("slower than their mean, %")
        _whole_numbers(axes)
        return finish()


def gains(problems: Sequence[Json]) -> str:
    """Draw each problem's gain with its bounds, in the campaign's order of problems."""
    compared = [(place, one["comparison"]) for place, one in enumerate(problems) if one["comparison"]]
    with figure("Gain of each problem over the default", wide=WIDE * 1.6) as (axes, finish):
        for place, one in compared:
            colour = COLOURS["tuned" if one["gain_low"] > 0 else "default"]
            axes.vlines(place, 100 * one["gain_low"], 100 * one["gain_high"], color=colour, linewidth=1.5)
            axes.plot([place], [100 * one["gain"]], "o", color=colour, markersize=4)
        level(axes, 0.0, "ink")
        axes.set_ylabel("gain, % (95 % bounds)")
        axes.set_xlim(-0.7, len(problems) - 0.3)
        _named(axes, [one["problem"] for one in problems])
        return finish()


def cost(by: Sequence[Json]) -> str:
    """Draw the node-hours of trials by role, subdivided by state."""
    roles = list(dict.fromkeys(one["role"] for one in by))
    colours = {"complete": "search", "pruned": "bound", "running": "faint", "planned": "faint"}
    with figure("Node-hours by the role of trials", high=1.9) as (axes, finish):
        left = dict.fromkeys(roles, 0.0)
        labelled: set[str] = set()
        for one in sorted(by, key=lambda one: (one["state"] != "complete", one["state"])):
            colour = colours.get(one["state"], "bad")
            label = one["state"] if one["node_hours"] and one["state"] not in labelled else None
            labelled |= {one["state"]} if label else set()
            place = roles.index(one["role"])
            axes.barh(place, one["node_hours"], left=left[one["role"]], color=COLOURS[colour], label=label, height=0.6)
            left[one["role"]] += one["node_hours"]
        axes.set_yticks(range(len(roles)), roles)
        axes.invert_yaxis()
        axes.set_xlabel("node-hours")
        legend(axes)
        return finish()


def _is(trial: Json, wanted: Mapping[str, Any]) -> bool:
    again = wanted.get("again")
    return trial["role"] == wanted["role"] and (again is None or again == (trial["run"] > 1))


def _is_bound(trial: Json) -> bool:
    return bool(trial["bound"] and trial["value"] is not None)


def _points(axes: Axes, chosen: Sequence[tuple[float, float]], label: str, marker: str, colour: str) -> None:
    if chosen:
        x, y = zip(*chosen, strict=True)
        inside = "none" if marker == "d" else COLOURS[colour]
        axes.plot(x, y, marker, color=COLOURS[colour], label=label, markersize=4, markerfacecolor=inside)


def level(axes: Axes, value: float, colour: str) -> None:
    """Draw a dashed horizontal line."""
    axes.axhline(value, color=COLOURS[colour], linewidth=0.9, linestyle=(0, (4, 3)))


def _value_axis(axes: Axes, label: str) -> None:
    """Set the label of the value axis, and make it logarithmic if the values span more than a factor of LOG_RANGE."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if low > 0 and high > LOG_RANGE * low:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.margins(y=0.1)
    axes.set_ylabel(label)


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))


def _named(axes: Axes, values: Sequence[object]) -> None:
    """Put ticks at 0, 1, ... labeled with `values`; if there are more than TICKS values, skip some."""
    step = -(-len(values) // TICKS)
    texts = [words.shown(value) for value in values[::step]]
    texts = [text if len(text) <= TICK_LENGTH else text[: TICK_LENGTH - 1] + "…" for text in texts]
    slanted = max(map(len, texts)) * len(texts) > ROOM
    axes.set_xticks(
        range(0, len(values), step), texts, rotation=35 if slanted else 0, ha="right" if slanted else "center"
    )


def legend(axes: Axes) -> None:
    """Draw a legend above the plot if anything in the plot has a label."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.3, columnspacing=1.0)


@contextmanager
def figure(title: str, wide: float = WIDE, high: float = HIGH) -> Iterator[tuple[Axes, Callable[[], str]]]:
    """Yield the axes of a new figure, and a function that finishes the figure and returns it as SVG text.

    Other threads wait until the figure is finished, since Matplotlib's settings are changed for the whole process.
    While `png` runs, the function that finishes the figure stores a PNG image and returns an empty string.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import TightLayoutEngine

    colours: Any = {key: COLOURS[name] for key, name in COLOUR_OF.items()}
    with _DRAWING, mpl.rc_context(STYLE | colours):
        figure = Figure(figsize=(wide, high))
        FigureCanvasSVG(figure)

        def finish() -> str:
            # If this engine were set on the figure, savefig would draw everything twice.
            TightLayoutEngine().execute(figure)
            if (made := _PNG.get()) is not None:
                picture = io.BytesIO()
                figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None})
                made.append(picture.getvalue())
                return ""
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
            return _inlined(buffer.getvalue(), title)

        yield figure.add_subplot(), finish


def _inlined(text: str, title: str) -> str:
    """Return only the `<svg>` element of an SVG file, with a title for screen readers and the page's colors."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"<!--.*?-->\s*|<style.*?</style>", "", text, flags=re.DOTALL)
    own = hashlib.sha256(text.encode()).hexdigest()[:8]  # makes element ids unique on a page with several pictures
    text = re.sub(r'(id="|#)(?=[mp][0-9a-f]{10}\b)', rf"\g<1>{own}", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for name, colour in STAND_INS.items():
        text = text.replace(colour, f"var(--{name})")
    named = escape(title, quote=True)
    return text.replace("<svg", f'<svg role="img" aria-label="{named}"', 1)
