"""What the README shows is what the program prints.

    python -m tests.readme        rewrite the printed blocks and the pictures of README.md

Blocks stand between `<!-- output: ARGUMENTS -->` and `<!-- end -->`; `ARGUMENTS | N` shows the
first N lines.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

README = ROOT / "README.md"
PICTURES = ROOT / "results" / "readme"
_BLOCK = re.compile(r"(<!-- output: (.*?) -->\n```\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def printed(arguments: str, folder: Path) -> str:
    """What the command prints in an empty folder, without the blanks at the ends of lines."""
    settings, _, lines = arguments.partition(" | ")
    command = [sys.executable, "-m", "ctxbench", *settings.split()]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    shown = result.stdout.splitlines()[: int(lines) if lines else None]
    return "".join(f"{line.rstrip()}\n" for line in shown)


def blocks() -> list[tuple[str, str]]:
    """The arguments and the printed text of each block."""
    return [(match[2], match[3]) for match in _BLOCK.finditer(README.read_text("utf-8"))]


def main() -> None:
    """Run every block's command and keep its pictures and the claims."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = _BLOCK.sub(lambda match: match[1] + printed(match[2], folder) + match[4], README.read_text("utf-8"))
        README.write_text(text, "utf-8")
        for picture in ("retained_by_tokens", "bias_o200k_base", "error_by_time", "trigger_error"):
            (found,) = folder.rglob(f"{picture}.png")
            shutil.copy(found, PICTURES / found.name)
        whole = folder / "whole"
        whole.mkdir()
        printed("experiment=strategies budget=[0.1,0.25,0.5]", whole)
        for picture in ("comparison", "depths"):
            (found,) = whole.rglob(f"{picture}.png")
            shutil.copy(found, PICTURES / found.name)
        (found,) = folder.rglob("claims.md")
        shutil.copy(found, PICTURES.parent / found.name)


if __name__ == "__main__":
    main()
