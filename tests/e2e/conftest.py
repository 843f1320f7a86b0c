"""Fixtures: stores in temporary folders. See harness.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness  # noqa: E402


def pytest_sessionstart(session):
    for path in (harness.REKINDLE, harness.PRELOAD_LIBRARY, harness.PLUGIN_LIBRARY):
        if not path.exists():
            pytest.exit(f"{path} is missing: build first, or set REKINDLE_E2E_BUILD", returncode=2)


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return harness.Store(tmp_path / "store")


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    """One store for all tests of a file, empty at first."""
    return harness.Store(tmp_path_factory.mktemp("shared") / "store")
