"""A loaded executable can be serialized again, by jax.experimental.serialize_executable and by JAX's own cache. The
result must also work without rekindle.

With FULL=1 on every CPU plugin of this machine (scripts/python-env --print-plugins), otherwise on the first.
"""

import os
import subprocess

import pytest

import harness
import serialize_cases
from serialize_cases import STARTS


def plugins():
    found = {"default": harness.find_plugin()}
    if os.environ.get("FULL") == "1":
        command = [harness.ROOT / "scripts/python-env", "--print-plugins"]
        listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        named = dict(map(str.split, listed.splitlines()))
        # Each environment has a copy of the default plugin.
        default = os.path.basename(found["default"])
        found |= {name: path for name, path in named.items() if os.path.basename(path) != default}
    return found


@pytest.fixture(scope="module", params=plugins().items(), ids=lambda item: item[0])
def plugin(request, tmp_path_factory):
    """A plugin, and the output of the programs on it without rekindle and without a cache."""
    made = harness.Store(tmp_path_factory.mktemp("bare") / "store")
    made.plugin = request.param[1]
    return made.plugin, serialize_cases.bare_results(made)


@pytest.fixture
def store(plugin, tmp_path):
    made = harness.Store(tmp_path / "store")
    made.plugin = plugin[0]
    return made


def test_serialize_load_run(store, plugin, tmp_path):
    serialize_cases.serialize_load_run(store, plugin[1], tmp_path / "kept", ways=["plugin"])


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
def test_jax_own_cache_beside_rekindle(store, plugin, tmp_path, starts):
    serialize_cases.own_cache_beside_rekindle(store, plugin[1], tmp_path / "own", starts)
