"""A card: a title, one large number, intervals as bars, a small table, warnings; as HTML.

Text takes the colour of its surroundings and bars have one that can be seen on white and on black,
so that a card suits light and dark notebooks without knowing which it is in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

ACCENT = "#2a8fd0"
WARNING = "#c07a00"
BAR = 220  # width of a bar, in units of the picture

STYLE = f"""
.haystat {{ font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  max-width: 46rem; padding: 0.5rem 0 0.5rem 0.9rem; border-left: 3px solid {ACCENT};
  overflow-x: auto; }}
.haystat .title {{ font-weight: 600; }}
.haystat .lead {{ font-size: 1.9em; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; }}
.haystat .lead small {{ font-size: 0.5em; font-weight: 400; opacity: 0.75; }}
.haystat .soft {{ opacity: 0.75; font-size: 0.92em; }}
.haystat table {{ border-collapse: collapse; margin: 0.4rem 0; border: 0;
  font-variant-numeric: tabular-nums; }}
.haystat th, .haystat td {{ text-align: left; padding: 0.15rem 1rem 0.15rem 0; border: 0;
  background: none; vertical-align: middle; }}
.haystat th {{ font-weight: 600; border-bottom: 1px solid rgba(128, 128, 128, 0.45); }}
.haystat td.n, .haystat th.n {{ text-align: right; white-space: nowrap; }}
.haystat .warn {{ border-left: 3px solid {WARNING}; padding-left: 0.6rem; margin: 0.4rem 0;
  max-width: 42rem; }}
.haystat svg {{ display: block; }}
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
:root {{ color-scheme: light dark; }} body {{ margin: 2rem auto; max-width: 50rem; padding: 0 1rem;
  background: Canvas; color: CanvasText; }}
</style></head><body>
{body}
</body></html>
"""


@dataclass(frozen=True)
class Bar:
    """A value and its interval, to be drawn on a range."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Card:
    """What there is to say about an object.

    bars share the range `ends`. heads and rows are a table; text of the first column goes to the
    left, everything else to the right. picture is SVG.
    """

    title: str
    lead: str = ""
    aside: str = ""
    bars: tuple[Bar, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    picture: str = ""
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def number(value: float) -> str:
    """A number for people: three digits after the point, or four that matter.

    >>> number(0.77312), number(0.00012), number(1234.5), number(float("nan"))
    ('0.773', '0.00012', '1,234', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else str(value)
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if size >= 0.001 or size == 0 else f"{value:.4g}"


def card_html(card: Card) -> str:
    """The card, to stand in any page."""
    parts = [
        f'<div class="title">{escape(card.title)}</div>',
        _lead(card),
        _bars(card),
        card.picture,
        _table(card.heads, card.rows),
        *(f'<div class="soft">{escape(fact)}</div>' for fact in card.facts),
        *(f'<div class="warn">{escape(text)}</div>' for text in card.warnings),
    ]
    return f'<div class="haystat"><style>{STYLE}</style>{"".join(parts)}</div>'


def card_page(card: Card) -> str:
    """The card as a page of its own, light or dark as the reader's screen is."""
    return PAGE.format(title=escape(card.title), body=card_html(card))


def _lead(card: Card) -> str:
    if not card.lead:
        return ""
    aside = f" <small>{escape(card.aside)}</small>" if card.aside else ""
    return f'<div class="lead">{escape(card.lead)}{aside}</div>'


def _bars(card: Card) -> str:
    if not card.bars:
        return ""
    if card.lead and len(card.bars) == 1:  # its numbers stand above
        return _picture(card.bars[0], card.ends)
    rows = "".join(
        f'<tr><td>{escape(bar.name)}</td><td class="n">{number(bar.value)}</td>'
        f'<td class="n">{interval(bar)}</td><td>{_picture(bar, card.ends)}</td></tr>'
        for bar in card.bars
    )
    return f"<table>{rows}</table>"


def interval(bar: Bar) -> str:
    """The interval in words."""
    if math.isnan(bar.low) or math.isnan(bar.high):
        return ""
    return f"{number(bar.low)} to {number(bar.high)}"


def _picture(bar: Bar, ends: tuple[float, float]) -> str:
    """The interval as a band on the range, the value as a mark."""
    if not all(map(math.isfinite, (bar.value, bar.low, bar.high, *ends))) or ends[1] <= ends[0]:
        return ""

    def at(value: float) -> float:
        share = (min(max(value, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0])
        return 2 + share * (BAR - 4)

    zero = (
        f'<line x1="{at(0):.1f}" y1="1" x2="{at(0):.1f}" y2="17" stroke="currentColor" '
        'stroke-opacity="0.5" stroke-dasharray="2 2"/>'
        if ends[0] < 0 < ends[1]
        else ""
    )
    said = f"{bar.name} {number(bar.value)}, interval {interval(bar)}"
    return (
        f'<svg width="{BAR}" height="18" role="img" aria-label="{escape(said, quote=True)}">'
        f'<line x1="2" y1="9" x2="{BAR - 2}" y2="9" stroke="currentColor" stroke-opacity="0.3"/>'
        f'{zero}<rect x="{at(bar.low):.1f}" y="4" rx="3" height="10" '
        f'width="{max(at(bar.high) - at(bar.low), 1.5):.1f}" fill="{ACCENT}" fill-opacity="0.4"/>'
        f'<rect x="{at(bar.value) - 1.5:.1f}" y="1" width="3" height="16" fill="{ACCENT}"/></svg>'
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    if not rows:
        return ""
    kind = ["<{0}>{1}</{0}>", '<{0} class="n">{1}</{0}>']

    def line(cells: Sequence[Any], tag: str) -> str:
        inside = "".join(
            kind[position > 0].format(tag, escape(str(cell))) for position, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    top = line(heads, "th") if heads else ""
    return f"<table>{top}{''.join(line(row, 'td') for row in rows)}</table>"
