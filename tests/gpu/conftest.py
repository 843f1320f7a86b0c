"""Prints one line for each case, and a last line with the counts. See run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gpu  # noqa: E402

COUNTED = {"passed": 0, "failed": 0, "skipped": 0}


def pytest_sessionstart(session):
    global TERMINAL
    TERMINAL = session.config.pluginmanager.get_plugin("terminalreporter")
    for path in (gpu.harness.REKINDLE, gpu.harness.PRELOAD_LIBRARY):
        if not path.exists():
            pytest.exit(f"{path} is missing: build first, or set REKINDLE_E2E_BUILD", returncode=2)


def pytest_collection_modifyitems(items):
    for item in items:
        item.user_properties.append(("title", item.callspec.id + ": " if hasattr(item, "callspec") else ""))
        item.user_properties.append(("title", item.function.__doc__.split("\n")[0].rstrip(".")))
        if gpu.missing():
            item.add_marker(pytest.mark.skip(reason=gpu.missing()))


def pytest_report_teststatus(report):
    return report.outcome, "", ""


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.outcome == "passed" and report.when != "call":
        return
    COUNTED[report.outcome] += 1
    properties = report.user_properties
    line = "".join(value for name, value in properties if name == "title")
    details = [value for name, value in properties if name == "detail"]
    if report.outcome == "skipped":
        details.append(report.longrepr[2].removeprefix("Skipped: "))
    word = {"passed": "ok"}.get(report.outcome, report.outcome)
    write(f"{word:8} {line}{': ' if details else ''}{'; '.join(details)}")
    if report.outcome == "failed":
        write(report.longreprtext)


def write(text):
    TERMINAL.ensure_newline()
    TERMINAL.write_line(text)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    if sum(COUNTED.values()):
        ran = COUNTED["passed"] + COUNTED["failed"]
        write(f"check-gpu: {ran} ran, {COUNTED['failed']} failed, {COUNTED['skipped']} skipped")


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    return gpu.Store(tmp_path / "store")


@pytest.fixture(scope="session")
def jax_devices(tmp_path_factory):
    """JAX's devices. If JAX does not see an existing GPU, the tests fail."""
    seen = gpu.seen("jax", str(tmp_path_factory.mktemp("jax")))
    if "error" in seen:
        pytest.fail("\n".join([f"{gpu.PYTHON}: JAX sees no GPU:", *seen["error"]]), pytrace=False)
    return seen


@pytest.fixture(scope="session")
def torch_device(tmp_path_factory):
    seen = gpu.seen("torch", str(tmp_path_factory.mktemp("torch")))
    if "error" in seen:
        pytest.skip(f"{gpu.PYTHON}: no PyTorch that sees a GPU: {seen['error'][-1]}")
    return seen
