"""A result directory to write to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_cases import STUDY

from offbeat.measurement.results.store import Store


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def store(directory: Path) -> Iterator[Store]:
    """A new result directory, open for writing."""
    with Store.create(directory, study_toml=STUDY, provenance={"host": "here"}) as new_store:
        yield new_store
