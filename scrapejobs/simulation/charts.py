"""Charts as inline SVG: no script, no file beside it, and no text that is not escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

from scrapejobs.simulation.series import Series, Timeline

WIDTH: Final = 720
HEIGHT: Final = 260
LEFT: Final = 56
BOTTOM: Final = 34
TOP: Final = 10
RIGHT: Final = 16
BAR: Final = 26
NAMES: Final = 150
FIGURES: Final = 160
_STEPS: Final = (1, 2, 5, 10)
_NAME_LENGTH: Final = 20


@dataclass(frozen=True, slots=True)
class Bar:
    """A share that was found, and the one expected."""

    name: str
    found: float
    expected: float | None = None


def line_chart(timeline: Timeline, *, label: str) -> str:
    """Lines over seconds, with a legend; `label` says what the height is."""
    x_ticks = ticks(timeline.times[-1])
    y_ticks = ticks(max((value for line in timeline.lines for value in line.values), default=0.0))
    x_end, y_end = max(timeline.times[-1], 1e-9), y_ticks[-1]
    parts = [_grid(x_ticks, y_ticks, x_end=x_end)]
    for number, line in enumerate(timeline.lines):
        points = " ".join(
            f"{_x(time, x_end):.1f},{_y(value, y_end):.1f}"
            for time, value in zip(timeline.times, line.values, strict=True)
        )
        parts.append(
            f'<polyline class="line c{number}" points="{points}"><title>{escape(line.name)}</title></polyline>'
        )
    return _legend(timeline.lines) + _svg("".join(parts), height=HEIGHT, label=label)


def bar_chart(bars: Sequence[Bar], *, label: str) -> str:
    """One bar for each share, and a mark where it was expected."""
    end = max([bar.found for bar in bars] + [bar.expected or 0.0 for bar in bars] + [1e-9])
    scale = (WIDTH - NAMES - FIGURES) / end
    parts = [_bar(bar, top=BAR * row, scale=scale) for row, bar in enumerate(bars)]
    return _svg("".join(parts), height=BAR * len(bars) + 6, label=label)


def ticks(greatest: float) -> list[float]:
    """Round numbers from 0 to the first that is not below `greatest`, about five of them."""
    if greatest <= 0:
        return [0.0, 1.0]
    rough = greatest / 5
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in _STEPS if power * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(ceil(greatest / step - 1e-9) + 1)]


def _bar(bar: Bar, *, top: float, scale: float) -> str:
    name = bar.name if len(bar.name) <= _NAME_LENGTH else f"{bar.name[: _NAME_LENGTH - 1]}…"
    width = bar.found * scale
    told = f"{bar.found:.1%}" + (f", expected {bar.expected:.1%}" if bar.expected is not None else "")
    shapes = (
        f"<g><title>{escape(bar.name)}: {told}</title>"
        f'<text class="name" x="{NAMES - 8}" y="{top + 18}">{escape(name)}</text>'
        f'<rect class="bar" x="{NAMES}" y="{top + 6}" width="{width:.1f}" height="16" rx="2"/>'
    )
    at = width
    if bar.expected is not None:
        mark = NAMES + bar.expected * scale
        shapes += f'<line class="mark" x1="{mark:.1f}" x2="{mark:.1f}" y1="{top + 2}" y2="{top + 26}"/>'
        at = max(width, bar.expected * scale)
    return shapes + f'<text x="{NAMES + at + 8:.1f}" y="{top + 18}">{told}</text></g>'


def _grid(x_ticks: list[float], y_ticks: list[float], *, x_end: float) -> str:
    parts = []
    for value in y_ticks:
        y = _y(value, y_ticks[-1])
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="name" x="{LEFT - 8}" y="{y + 4:.1f}">{value:g}</text>')
    parts.extend(
        f'<text class="middle" x="{_x(value, x_end):.1f}" y="{HEIGHT - 12}">{value:g} s</text>'
        for value in x_ticks
        if value <= x_end
    )
    return "".join(parts)


def _legend(lines: Sequence[Series]) -> str:
    items = (f'<li><i class="c{number}"></i>{escape(line.name)}</li>' for number, line in enumerate(lines))
    return f"<ul>{''.join(items)}</ul>"


def _svg(content: str, *, height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">{content}</svg>'


def _x(time: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * time / end


def _y(value: float, end: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / end
