# SPDX-License-Identifier: Apache-2.0
"""Lines as SVG: panels in two columns, a line with its spread for each series,
no library. Each panel has scales of its own. Points follow each other at equal
distances, from 1 on: epochs, unless a panel names its axis."""
import math
from xml.sax.saxutils import escape

COLUMNS, MARGIN = 2, 16
WIDTH, HEIGHT, LEFT, TITLE, FOOT = 520, 300, 64, 30, 36  # pixels of a panel
LEGEND = 24


def _text(x, y, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _steps(low, high):
    """1, 2 and 5 of every power of ten around low to high."""
    first, last = (math.floor(math.log10(v)) for v in (low, high))
    return [digit * 10.0 ** power for power in range(first, last + 2)
            for digit in (1, 2, 5)]


class Scale:
    """Values to pixels, linear or by logarithm."""

    def __init__(self, values, start, end, log=False):
        self.log = log
        low, high = min(values), max(values)
        if log:
            if low <= 0:
                raise ValueError(f"no logarithm of {low}")
            low = max(tick for tick in _steps(low, high) if tick <= low)
            high = min(tick for tick in _steps(low, high) if tick >= high)
        self.low, self.high = low, high
        self.start, self.end = start, end

    def at(self, value):
        low, high = self.low, self.high
        if self.log:
            low, high, value = map(math.log10, (low, high, value))
        share = (value - low) / ((high - low) or 1)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        if self.log:
            ticks = [tick for tick in _steps(self.low, self.high)
                     if self.low <= tick <= self.high]
            return (ticks if len(ticks) < 8 else
                    [tick for tick in ticks if math.log10(tick) % 1 == 0])
        step = 10 ** math.floor(math.log10((self.high - self.low) or 1))
        if (self.high - self.low) / step < 4:
            step /= 5 if (self.high - self.low) / step < 2 else 2
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]


def _axes(x, y, axis):
    name, labels = axis
    lines = []
    for tick in y.ticks():
        at = y.at(tick)
        lines.append(f'<line x1="{x.start}" x2="{x.end}" y1="{at:.1f}" '
                     f'y2="{at:.1f}" stroke="#ddd"/>')
        lines.append(_text(x.start - 6, at + 4, f"{tick:g}",
                           'text-anchor="end" font-size="11"'))
    for place, label in enumerate(labels):
        lines.append(_text(x.at(1 + place), y.start + 16, str(label),
                           'text-anchor="middle" font-size="11"'))
    lines.append(_text((x.start + x.end) / 2, y.start + 31, name,
                       'text-anchor="middle" font-size="11"'))
    return lines


def _series(x, y, colour, dash, points):
    """`points`: (least, middle, most), from 1 on; None where there is none."""
    places = [(x.at(1 + i), *map(y.at, values))
              for i, values in enumerate(points) if values]
    outline = ([f"{px:.1f},{least:.1f}" for px, least, _, _ in places] +
               [f"{px:.1f},{most:.1f}" for px, _, _, most in places[::-1]])
    middle = [f"{px:.1f},{mid:.1f}" for px, _, mid, _ in places]
    more = f' stroke-dasharray="{dash}"' if dash else ""
    return [f'<polygon points="{" ".join(outline)}" fill="{colour}" '
            'fill-opacity="0.18"/>',
            f'<polyline points="{" ".join(middle)}" fill="none" '
            f'stroke="{colour}" stroke-width="2"{more}/>']


def _panel(left, top, title, series, log, axis=None):
    """`series`: (colour, dash, points as of _series); `axis`: (its name, the
    label of each place)."""
    values = [value for _, _, points in series for each in points if each
              for value in each]
    count = max(len(points) for _, _, points in series)
    x = Scale([1, count], left + LEFT, left + WIDTH - MARGIN)
    y = Scale(values, top + HEIGHT - FOOT, top + TITLE, log)
    lines = [_text(left + LEFT, top + 16, title, 'font-weight="bold"')]
    lines += _axes(x, y, axis or ("epoch", range(1, count + 1)))
    for each in series:
        lines += _series(x, y, *each)
    return lines


def _legend(entries, top):
    """`entries`: (label, colour, dash)."""
    lines, x = [], MARGIN
    for label, colour, dash in entries:
        more = f' stroke-dasharray="{dash}"' if dash else ""
        lines.append(f'<line x1="{x}" x2="{x + 26}" y1="{top}" y2="{top}" '
                     f'stroke="{colour}" stroke-width="3"{more}/>')
        lines.append(_text(x + 32, top + 4, label))
        x += 50 + 7 * len(label)
    return lines


def write(path, title, entries, panels):
    """`entries` as of _legend; `panels`: (title, series, log) as of _panel, and
    its axis if it is not that of epochs."""
    body = [_text(MARGIN, MARGIN + 14, title, 'font-size="16"')]
    body += _legend(entries, MARGIN + 38)
    top = MARGIN + 38 + LEGEND
    for i, panel in enumerate(panels):
        body += _panel(MARGIN + i % COLUMNS * (WIDTH + MARGIN),
                       top + i // COLUMNS * (HEIGHT + MARGIN), *panel)
    rows = -(-len(panels) // COLUMNS)
    width = COLUMNS * (WIDTH + MARGIN) + MARGIN
    height = top + rows * (HEIGHT + MARGIN)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' +
        "\n".join(body) + "\n</svg>\n")
