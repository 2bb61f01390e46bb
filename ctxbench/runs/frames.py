"""Loads the rows of runs into pandas."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxbench.runs.folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


def load_frame(folder: RunFolder, table: str = "samples") -> "pd.DataFrame":
    """A run's table, a row a line and a column a field."""
    import pandas as pd

    return pd.DataFrame(folder.rows(table))


def load_frames(folders: Iterable[RunFolder], table: str = "samples") -> "pd.DataFrame":
    """The tables of several runs, one under the other, with the run's path in `run`."""
    import pandas as pd

    frames = [load_frame(folder, table).assign(run=str(folder.path)) for folder in folders]
    frames = [frame for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
