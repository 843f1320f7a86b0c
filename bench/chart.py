"""Draws grouped horizontal bars as SVG, without a library: searchable text, light and dark."""

from html import escape

WIDTH, LABEL, ROOM, BAR, GAP, TOP = 860, 170, 70, 13, 16, 64
COLOURS = ("#9aa3ad", "#d08a3c", "#5b8def", "#1f9e6e", "#c9ccd1")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#24292f}.small{font-size:11px;fill:#57606a}.title{font-size:15px;"
    "font-weight:600}line{stroke:#d0d7de}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}"
    "line{stroke:#30363d}}"
)


def tick_step(most):
    """A round step; at most six steps reach `most`."""
    step = 10.0 ** -6
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 6:
                return step * factor
        step *= 10


def bars(title, unit, series, groups):
    """Returns the SVG. `series`: names; `groups`: {name: [(value, least, most) or None, one per series]}."""
    most = max(m for values in groups.values() for v in values if v for m in (v[2],)) or 1.0
    scale = (WIDTH - LABEL - ROOM) / most
    height = TOP + len(groups) * (len(series) * BAR + GAP) + 28
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
        f"<style>{STYLE}</style><title>{escape(title)}</title>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
    ]
    x = 8
    for name, colour in zip(series, COLOURS):
        out.append(f'<rect x="{x}" y="36" width="11" height="11" fill="{colour}"/>')
        out.append(f'<text x="{x + 16}" y="46">{escape(name)}</text>')
        x += 34 + 7 * len(name)
    step, bottom = tick_step(most), height - 24
    for number in range(int(most / step) + 1):
        at = LABEL + number * step * scale
        out.append(f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" y2="{bottom}"/>')
        out.append(f'<text class="small" x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{number * step:g} {unit}</text>')
    y = TOP
    for name, values in groups.items():
        out.append(f'<text x="{LABEL - 8}" y="{y + len(series) * BAR / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for value, colour in zip(values, COLOURS):
            if value:
                middle, least, highest = (v * scale for v in value)
                out.append(f'<rect x="{LABEL}" y="{y}" width="{max(middle, 0.5):.1f}" height="{BAR - 2}" fill="{colour}"/>')
                centre = y + BAR / 2 - 1
                out.append(
                    f'<line x1="{LABEL + least:.1f}" y1="{centre}" x2="{LABEL + highest:.1f}" y2="{centre}" '
                    'style="stroke:#24292f;stroke-opacity:.55"/>'
                )
                out.append(f'<text class="small" x="{LABEL + highest + 5:.1f}" y="{y + BAR - 3}">{value[0]:.2f}</text>')
            y += BAR
        y += GAP
    return "\n".join([*out, "</svg>"]) + "\n"
