"""What a local stack keeps in its data directory."""

from pathlib import Path

import pytest
from dotenv import dotenv_values

from scrapejobs.ops.local.data_dir import Access, keep_access, recall_access, write_stack_env

VALUES = [
    "plain",
    "with space",
    "it's",
    'a "quote"',
    "back\\slash",
    "$HOME ${X}",
    "# no comment",
    "a=b",
    "é\N{SNOWMAN}",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_setting_is_read_back_as_it_was_written(tmp_path: Path, value: str):
    assert dotenv_values(write_stack_env(tmp_path, {"NAME": value, "OTHER": "1"})) == {"NAME": value, "OTHER": "1"}


@pytest.mark.req("NFR-12")
def test_the_files_are_for_their_owner_alone(tmp_path: Path):
    keep_access(tmp_path, Access(secret_key="s", admin_password="p", api_key="k"))
    write_stack_env(tmp_path, {"A": "1"})
    assert [file.stat().st_mode & 0o777 for file in tmp_path.iterdir()] == [0o600, 0o600]


def test_keys_are_new_in_a_new_directory_and_the_same_ever_after(tmp_path: Path):
    first = recall_access(tmp_path)
    assert first != recall_access(tmp_path)
    keep_access(tmp_path, first)
    assert recall_access(tmp_path) == first
