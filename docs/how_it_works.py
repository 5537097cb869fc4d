#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/how-it-works.svg, the diagram of README.md.

  how_it_works.py            writes the file beside this script
  how_it_works.py --check    exits 1 if the file is another one
"""
import pathlib
import sys
from string import Template
from xml.sax.saxutils import escape

FILE = pathlib.Path(__file__).with_name("how-it-works.svg")

PAGE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height"
     font-family="Helvetica, Arial, sans-serif" role="img"
     aria-label="$label">
<!-- Made by docs/how_it_works.py. -->
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"
        markerHeight="7" orient="auto-start-reverse">
<path d="M0 0L8 4L0 8z" fill="#475569"/>
</marker>
</defs>
<rect width="$width" height="$height" rx="8" fill="#ffffff"/>
$shapes
</svg>
""")

BOX = Template("""\
<rect x="$x" y="$y" width="$width" height="$height" rx="6" fill="$fill" \
stroke="$stroke"$dash/>
$lines""")

LINE = Template(
    '<text x="$x" y="$y" font-size="$size" fill="$colour" font-weight="$weight"'
    ' text-anchor="middle">$text</text>')

ARROW = Template(
    '<path d="M$x1 ${y1}L$x2 $y2" stroke="#475569" stroke-width="1.5"'
    ' fill="none" marker-end="url(#tip)"$start/>')

LABEL = ("shufflefs reads the source and shows it at a mount, through a policy, "
         "memory and a tier; your program reads the mount")


def text(x, y, words, size=13, colour="#334155", weight="normal"):
    return LINE.substitute(x=x, y=y, size=size, colour=colour, weight=weight,
                           text=escape(words))


def box(x, y, width, height, title, lines, fill="#f1f5f9", stroke="#94a3b8",
        dashed=False):
    """A box with a title and lines below it, all centred."""
    middle = x + width / 2
    first = y + 24
    words = [text(middle, first, title, 15, "#0f172a", "bold")]
    words += [text(middle, first + 20 * (i + 1), line)
              for i, line in enumerate(lines)]
    return BOX.substitute(x=x, y=y, width=width, height=height, fill=fill,
                          stroke=stroke, lines="\n".join(words),
                          dash=' stroke-dasharray="5 4"' if dashed else "")


def arrow(x1, y1, x2, y2, both=False):
    start = ' marker-start="url(#tip)"' if both else ""
    return ARROW.substitute(x1=x1, y1=y1, x2=x2, y2=y2, start=start)


def draw():
    blue = {"fill": "#dbeafe", "stroke": "#3b82f6"}
    shapes = [
        box(20, 70, 150, 110, "source", ["your dataset", "never written",
                                         "disk, NFS, …"]),
        box(220, 20, 400, 210, "shufflefs", [], fill="#f8fafc"),
        box(240, 60, 170, 70, "policy", ["order of the epoch"], **blue),
        box(430, 60, 170, 70, "memory", ["samples until read"], **blue),
        box(335, 150, 170, 62, "tier (optional)", ["copies on a fast disk"],
            dashed=True, **blue),
        box(670, 70, 150, 110, "mount", ["ordinary files", "new order",
                                         "every epoch"]),
        box(870, 70, 150, 110, "your program", ["unchanged", "open, read",
                                                "PyTorch, cp, …"]),
        arrow(174, 125, 216, 125),
        arrow(412, 95, 428, 95),
        arrow(450, 148, 480, 133, both=True),
        arrow(624, 125, 666, 125),
        arrow(824, 125, 866, 125),
    ]
    return PAGE.substitute(width=1040, height=250, label=LABEL,
                           shapes="\n".join(shapes))


def main():
    if sys.argv[1:] == ["--check"]:
        if FILE.read_text() != draw():
            sys.exit(f"{FILE}: not what {__file__} makes; run it")
    elif not sys.argv[1:]:
        FILE.write_text(draw())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
