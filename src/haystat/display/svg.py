"""A curve with its band as SVG that suits light and dark surroundings."""

from __future__ import annotations

from collections.abc import Sequence

from haystat.display.card import ACCENT

SIZE, LEFT, BOTTOM = 220, 34, 34


def curve_svg(
    points: Sequence[tuple[float, float, float, float]],
    x_name: str,
    y_name: str,
    mark: tuple[float, float] | None = None,
) -> str:
    """Points are (x, y, low, high), all from 0 to 1; mark is a point on the curve."""

    def at(x: float, y: float) -> str:
        return f"{LEFT + x * SIZE:.1f},{6 + (1 - y) * SIZE:.1f}"

    band = [at(x, high) for x, _, _, high in points] + [at(x, lo) for x, _, lo, _ in points[::-1]]
    line = " ".join(at(x, y) for x, y, _, _ in points)
    soft = 'stroke="currentColor" stroke-opacity="0.35"'
    ticks = "".join(
        f'<text x="{LEFT + t * SIZE}" y="{SIZE + 20}" text-anchor="middle">{t:g}</text>'
        f'<text x="{LEFT - 5}" y="{10 + (1 - t) * SIZE}" text-anchor="end">{t:g}</text>'
        for t in (0.0, 0.5, 1.0)
    )
    dot = ""
    if mark is not None:
        x, y = at(*mark).split(",")
        dot = f'<circle cx="{x}" cy="{y}" r="5" fill="{ACCENT}" stroke="currentColor"/>'
    return (
        f'<svg width="{SIZE + LEFT + 12}" height="{SIZE + BOTTOM + 12}" role="img" '
        f'aria-label="{y_name} by {x_name}" font-size="11" fill="currentColor">'
        f'<rect x="{LEFT}" y="6" width="{SIZE}" height="{SIZE}" fill="none" {soft}/>{ticks}'
        f'<polygon points="{" ".join(band)}" fill="{ACCENT}" fill-opacity="0.3"/>'
        f'<polyline points="{line}" fill="none" stroke="{ACCENT}" stroke-width="2"/>{dot}'
        f'<text x="{LEFT + SIZE / 2}" y="{SIZE + 38}" text-anchor="middle">{x_name}</text>'
        f'<text transform="translate(10 {SIZE / 2}) rotate(-90)" text-anchor="middle">{y_name}'
        "</text></svg>"
    )
