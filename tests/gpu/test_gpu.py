"""Tests of rekindle on a GPU. `make check-gpu` prints the first line of each test's docstring."""

import pytest

import gpu
import serialize_cases
from gpu import PROGRAMS, SAME_BITS, Store
from harness import assert_cold, assert_warm, requests
from serialize_cases import STARTS

KINDS = ["train", "donated", "bfloat16", "scanned", "convolution", "updated"]


@pytest.fixture(autouse=True)
def _devices(request, record_property):
    """Adds the devices of a case to its line."""
    name = "torch_device" if "torch_device" in request.fixturenames else "jax_devices"
    seen = request.getfixturevalue(name)
    record_property("detail", f"{name.split('_')[0]} {seen['version']}, {seen['count']} × {seen['kind']}")


def assert_restarts(store, program, *args, env, results):
    """A cold start, a warm start without prefetching and prefetched starts give the same results."""
    cold = store.start(program, *args, env=env).json()
    stats = store.stats()
    assert_cold(stats)
    assert stats["stored"] == stats["misses"] == requests(stats) == cold["requests"], stats
    assert results is None or cold["results"] == results
    warm = store.start(program, *args, env=env | {"REKINDLE_PRELOAD": "0"})
    assert warm.json()["results"] == cold["results"]
    assert_warm(store.stats())
    for _ in range(2):
        ahead = store.start(program, *args, env=env)
        assert ahead.json()["results"] == cold["results"]
        stats = store.stats()
        assert_warm(stats)
    assert stats["preloaded"] == stats["hits"] == cold["requests"], stats


def test_training_steps(store):
    """Training steps and more: cold, warm and prefetched, with the same bits as without rekindle"""
    bare = store.start("kinds.py", *KINDS, way="bare", env=SAME_BITS).json()["results"]
    assert_restarts(store, "kinds.py", *KINDS, env=SAME_BITS, results=bare)


def test_tuned_kernels(store):
    """Kernels chosen by timing: a warm start loads the kernels chosen by the cold start"""
    assert_restarts(store, "kinds.py", "train", "scanned", env={}, results=None)


def test_collectives(store, record_property):
    """Collective programs over all GPUs: cold, warm and prefetched"""
    bare = store.start(PROGRAMS / "collective.py", way="bare", env=SAME_BITS).json()
    if bare["devices"] == 1:
        record_property("detail", "the form for one device, since there is one")
    assert_restarts(store, PROGRAMS / "collective.py", env=SAME_BITS, results=bare["results"])


@pytest.fixture(scope="module")
def serialized(tmp_path_factory, jax_devices):
    """The results of the serialized programs without rekindle. They do not depend on the chosen kernels."""
    return serialize_cases.bare_results(SameBits(tmp_path_factory.mktemp("bare") / "store"))


class SameBits(Store):
    def environment(self, way, env=None):
        return super().environment(way, SAME_BITS | (env or {}))


@pytest.fixture
def same_bits(tmp_path):
    return SameBits(tmp_path / "store")


def test_serialize(same_bits, serialized, tmp_path):
    """Serialize, load, run: bare, cold, warm and prefetched"""
    serialize_cases.serialize_load_run(same_bits, serialized, tmp_path / "kept", ways=[])


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
def test_own_cache(same_bits, serialized, tmp_path, starts):
    """JAX's own cache beside rekindle; the last of four starts runs without rekindle"""
    serialize_cases.own_cache_beside_rekindle(same_bits, serialized, tmp_path / "own", starts)


def test_explain_a_changed_shape(store):
    """`rekindle explain` after the batch grew"""
    store.start(PROGRAMS / "shape.py", 32)
    store.start(PROGRAMS / "shape.py", 48)
    explained = gpu.explained(store)
    (compiled,) = [one for one in explained["compilations"] if one["name"] == "jit_training_step"]
    assert compiled["cause"] == "shape" and compiled["nearest"], compiled
    assert any("32" in one["before"] and "48" in one["after"] for one in compiled["differences"]), compiled
    assert explained["questions"]["input_shapes_changed"] is True


def test_torch_compile(store, torch_device, tmp_path):
    """torch.compile: the same results with and without the preload, at the first and the second start"""
    device = "cpu" if gpu.PLATFORM == "cpu" else "cuda"
    bare = None
    for way in ("bare", "run", "run"):
        env = {"TORCHINDUCTOR_CACHE_DIR": tmp_path / way, "TRITON_CACHE_DIR": tmp_path / way / "triton",
               "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}  # fmt: skip
        done = store.start(PROGRAMS / "torch_compiled.py", device, way=way, env=env)
        bare = bare or done.json()
        assert done.json() == bare and bare["graphs"] > 0, (way, bare)
        ours = gpu.said(done)
        assert len(ours) == (way == "run") and "ld.so" not in done.stderr, done.stderr
        assert not ours or "no PJRT plugin was seen" in ours[0]
