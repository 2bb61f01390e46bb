import re
from pathlib import Path

import pytest

from tests.readme import README, blocks, printed


def comparable(text: str) -> str:
    """The text without what differs from run to run: seconds and the names of folders."""
    text = re.sub(r"results/(runs|sweeps)/\S+", "", text)
    text = re.sub(r"[0-9.]+, [0-9.]+ ms", "", text)
    text = re.sub(r"[ (]*[0-9.]+ s\)?$", "", text, flags=re.MULTILINE)
    return re.sub(r"[\s─]+", " ", text)  # a column is as wide as its figures, and what is below it is as wide


@pytest.mark.parametrize("arguments", [arguments for arguments, _ in blocks()])
def test_the_readme_shows_what_is_printed(arguments: str, tmp_path: Path) -> None:
    assert comparable(printed(arguments, tmp_path)) == comparable(dict(blocks())[arguments])


def test_the_readme_names_files_that_exist() -> None:
    links = re.findall(r"\]\(((?!http)[^)]+)\)", README.read_text("utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
