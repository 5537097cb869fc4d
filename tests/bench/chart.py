# SPDX-License-Identifier: Apache-2.0
"""Bars as SVG: a panel for each case, a bar for each measurement, no library."""
from xml.sax.saxutils import escape

WIDTH, LABEL, VALUE = 760, 190, 150  # pixels: all, left and right of the bars
BAR, GAP, TITLE = 18, 6, 34
COLOURS = ("#4878a8", "#e08a3c", "#5a9e5a", "#b85450", "#8a6bb1", "#8c6d5a",
           "#c878a8", "#7a7a7a", "#a8a03c", "#3ca0a8")


def _text(x, y, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _panel(top, title, bars, mark, colours):
    """`bars`: (label, seconds, spread); `mark`: (label, seconds) or None."""
    longest = max([value for _, value, _ in bars] + [mark[1] if mark else 0])
    scale = (WIDTH - LABEL - VALUE) / (longest or 1)
    lines = [_text(0, top + 16, title, 'font-weight="bold"')]
    y = top + TITLE - 6
    for label, value, spread in bars:
        lines.append(_text(LABEL - 8, y + BAR - 5, label,
                           'text-anchor="end"'))
        lines.append(f'<rect x="{LABEL}" y="{y}" height="{BAR}" '
                     f'width="{value * scale:.1f}" fill="{colours[label]}"/>')
        lines.append(_text(LABEL + value * scale + 6, y + BAR - 5,
                           f"{value:.1f} ± {spread:.1f} s"))
        y += BAR + GAP
    if mark:
        x = LABEL + mark[1] * scale
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + TITLE - 10}" '
                     f'y2="{y + 8}" stroke="#000" stroke-dasharray="3 3"/>')
        lines.append(_text(x + 4, y + 8, mark[0], 'font-size="11"'))
    return lines, y + 24


def write(path, title, panels):
    """`panels`: (title, bars, mark) as of _panel."""
    labels = []
    for _, bars, _ in panels:
        labels += [label for label, _, _ in bars if label not in labels]
    colours = {label: COLOURS[i % len(COLOURS)]
               for i, label in enumerate(labels)}
    body = [_text(0, 18, title, 'font-size="16"')]
    top = 34
    for panel in panels:
        lines, top = _panel(top, *panel, colours)
        body += lines
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 20}" '
        f'height="{top + 10}" viewBox="-10 -10 {WIDTH + 20} {top + 10}" '
        'font-family="sans-serif" font-size="13">\n'
        f'<rect x="-10" y="-10" width="{WIDTH + 20}" height="{top + 10}" '
        'fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n")
