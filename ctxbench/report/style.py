"""How plots look: colours that colour-blind readers can tell apart, sizes that a README can show."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbench.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's palette, the strongest contrasts first."""
MARKERS = "osD^vPX*"
GREY = "#777777"


def look(index: int) -> tuple[str, str, str]:
    """Colour, marker and line style of the index-th series; past eight, all three differ from the first ones."""
    cycle, place = divmod(index, len(COLOURS))
    return COLOURS[place], MARKERS[(place + 3 * cycle) % len(MARKERS)], ("-", "--", ":", "-.")[cycle % 4]


@contextmanager
def plot_style() -> Iterator[None]:
    """Settings for all plots; a backend without a screen, and no clock or random ids in SVG files."""
    import matplotlib

    matplotlib.use("Agg")
    settings: Any = {
        "font.size": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "legend.fontsize": 9,
        "svg.hashsalt": "ctxbench",
        "figure.constrained_layout.use": True,
    }
    with matplotlib.rc_context(settings):
        yield


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write `<name>.png` and `<name>.svg`, each whole or not at all, and return their paths."""
    from matplotlib import pyplot, rc_context

    paths = []
    for kind in ("png", "svg"):
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
        with rc_context({"figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)  # the second file is laid out as the first one
        path = folder / f"{name}.{kind}"
        with write_atomic(path) as stream:
            stream.write(buffer.getvalue())
        paths.append(path)
    pyplot.close(figure)
    return paths
