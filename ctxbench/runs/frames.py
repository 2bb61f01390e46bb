"""Loads the rows of runs into pandas."""

from typing import TYPE_CHECKING

from ctxbench.runs.folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


def load_frame(folder: RunFolder, table: str = "samples") -> "pd.DataFrame":
    """A run's table, a row a line and a column a field."""
    import pandas as pd

    return pd.DataFrame(folder.rows(table))
