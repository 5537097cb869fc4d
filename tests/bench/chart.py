# SPDX-License-Identifier: Apache-2.0
"""Bars as SVG: panels in two columns, a bar for each measurement, no library.
Each panel has a scale of its own: it compares within itself."""
from xml.sax.saxutils import escape

COLUMNS, MARGIN = 2, 16
WIDTH, LABEL, VALUE = 520, 150, 92  # pixels: a panel, left and right of bars
BAR, GAP, TITLE, FOOT = 17, 6, 30, 26


def _text(x, y, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _height(panel):
    return TITLE + len(panel[1]) * (BAR + GAP) + FOOT


def _bar(x, y, scale, bar):
    label, colour, value, spread = bar
    lines = [_text(x + LABEL - 8, y + BAR - 4, label, 'text-anchor="end"'),
             f'<rect x="{x + LABEL}" y="{y}" height="{BAR}" '
             f'width="{value * scale:.1f}" fill="{colour}"/>']
    text = f"{value:.1f}" + (f" ± {spread:.1f}" if spread >= 0.05 else "")
    lines.append(_text(x + LABEL + value * scale + 6, y + BAR - 4, text + " s"))
    return lines


def _panel(x, top, title, bars, mark):
    """`bars`: (label, colour, seconds, spread); `mark`: (label, seconds) or
    None."""
    longest = max([value for _, _, value, _ in bars] + [mark[1] if mark else 0])
    scale = (WIDTH - LABEL - VALUE) / (longest or 1)
    lines = [_text(x + LABEL, top + 14, title, 'font-weight="bold"')]
    y = top + TITLE - 6
    marked = []
    if mark:
        at = x + LABEL + mark[1] * scale
        bottom = y + len(bars) * (BAR + GAP)
        marked = [f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - 4}" '
                  f'y2="{bottom}" stroke="#c02020" stroke-dasharray="3 3"/>',
                  _text(at - 4, bottom + 10, f"{mark[0]} {mark[1]:.1f} s",
                        'font-size="11" fill="#c02020"')]
    for bar in bars:
        lines += _bar(x, y, scale, bar)
        y += BAR + GAP
    return lines + marked


def write(path, title, panels):
    """`panels`: (title, bars, mark) as of _panel."""
    body = [_text(MARGIN, MARGIN + 14, title, 'font-size="16"')]
    top = MARGIN + 36
    for i in range(0, len(panels), COLUMNS):
        line = panels[i:i + COLUMNS]
        for column, panel in enumerate(line):
            body += _panel(MARGIN + column * (WIDTH + MARGIN), top, *panel)
        top += max(map(_height, line))
    width = COLUMNS * (WIDTH + MARGIN) + MARGIN
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{top}" viewBox="0 0 {width} {top}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect width="{width}" height="{top}" fill="#fff"/>\n' +
        "\n".join(body) + "\n</svg>\n")
