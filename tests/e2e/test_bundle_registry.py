"""A bundle goes through a real registry (Debian's docker-registry) with Debian's skopeo. The root of a container that is
built with it starts warm. scripts/registry-tools unpacks both programs."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import harness
from harness import assert_cold, assert_warm
from machines import two

TOOLS = Path(os.environ.get("REKINDLE_REGISTRY_TOOLS") or Path.home() / ".cache/rekindle-dev/registry-tools")
BUNDLE_OCI = Path(__file__).parents[2] / "examples/bundle_oci"
REFERENCE = "team/job:1"

if not (TOOLS / "usr/bin/skopeo").exists():
    pytest.skip("no skopeo and no docker-registry: scripts/registry-tools", allow_module_level=True)


def tool(name, *words, check=True):
    libraries = next(TOOLS.glob("usr/lib/*/libgpgme.so.11")).parent
    env = harness.clean_environment() | {"LD_LIBRARY_PATH": str(libraries)}
    command = [str(TOOLS / "usr/bin" / name), *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=check)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="module")
def registry(folder):
    """The address of a registry on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "registry.yml"
    config.write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {folder}/registry\nhttp:\n  addr: {address}\n"
    )
    with open(folder / "registry.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([TOOLS / "usr/bin/docker-registry", "serve", config], stdout=log, stderr=log)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://{address}/v2/", timeout=10).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "registry.log").read_text()
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def pack(what, *words):
    env = harness.clean_environment() | {"REKINDLE": str(harness.BUILD / "bin/rekindle")}
    subprocess.run([sys.executable, "-I", BUNDLE_OCI, what, "--tag", "1", *words], env=env, check=True, timeout=120)


def push(address, file, layout):
    pack("pack", file, layout)
    tool("skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", f"oci:{layout}:1", f"docker://{address}/{REFERENCE}")


def pull(address, layout, file):
    tool("skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", f"docker://{address}/{REFERENCE}", f"oci:{layout}:1")
    pack("unpack", layout, file)


@pytest.fixture(scope="module")
def published(folder, registry):
    """A job's bundle that was pushed and pulled: both machines, the cold start, the pulled file and the maker's key."""
    first, second = two(folder)
    name = {"REKINDLE_JOB": "serve"}
    cold, stats = first.start("kinds.py", env=name)
    assert_cold(stats)
    file, pulled = folder / "job.rkb", folder / "pulled.rkb"
    first.bundle("export", "-o", file)
    key = json.loads(first.bundle("inspect", file, "--json").stdout)["signature"]["public_key"]
    push(registry, file, folder / "pushed")
    pull(registry, folder / "copied", pulled)
    assert pulled.read_bytes() == file.read_bytes()
    return first, second, cold, pulled, key


def test_what_the_registry_shows(published, registry):
    _, _, _, pulled, key = published
    said = tool("skopeo", "inspect", "--raw", "--tls-verify=false", f"docker://{registry}/{REFERENCE}").stdout
    manifest = json.loads(said)
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.rekindle.bundle.v1"
    assert layer["size"] == pulled.stat().st_size
    texts = manifest["annotations"]
    assert texts["vnd.rekindle.bundle.public-key"] == key
    assert texts["vnd.rekindle.bundle.made-with.jax"] and texts["vnd.rekindle.bundle.job"] == "serve"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", texts["org.opencontainers.image.created"])


def test_another_machine_starts_warm(published):
    _, second, cold, pulled, key = published
    second.bundle("import", "--trust", key, pulled)
    warm, there = second.start("kinds.py", env={"REKINDLE_JOB": "serve"})
    assert_warm(there)
    assert warm.json() == cold.json()
    assert there["preloaded"] > 0, there


# Runs in name spaces of its own: builds the root of a container out of folders of this machine.
ENTER = """
set -eu
root={root}
mount -t tmpfs none "$root"
for folder in {folders}; do
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
done
for link in bin sbin lib lib64; do [ ! -L /$link ] || ln -s usr/$link "$root/$link"; done
mkdir -p "$root/tmp" "$root/home/serve" "$root/srv/programs" "$root/srv/store"
mount --bind {programs} "$root/srv/programs"
mount --bind {store} "$root/srv/store"
exec chroot "$root" "$@"
"""


class Container:
    """A root with the system, Python and rekindle of this machine, another home, and a store at another path."""

    def __init__(self, folder, programs):
        self.root, self.store, self.programs = folder / "root", folder / "layer", folder / "programs"
        for path in (self.root, self.store):
            path.mkdir()
        shutil.copytree(programs, self.programs)
        environment = Path(sys.prefix).resolve()
        base = Path(sys.base_prefix).resolve()
        plugin = Path(harness.find_plugin()).parent
        folders = {Path("/usr"), Path("/proc"), Path("/dev"), Path("/etc"), environment, base, harness.BUILD, plugin}
        folders |= {path for path in (Path("/bin"), Path("/lib"), Path("/lib64")) if not path.is_symlink()}
        names = sorted(str(path) for path in folders if not any(other in path.parents for other in folders))
        self.script = ENTER.format(
            root=shlex.quote(str(self.root)), folders=shlex.join(names),
            programs=shlex.quote(str(self.programs)), store=shlex.quote(str(self.store)),
        )  # fmt: skip

    def run(self, *words, env=None):
        env = {"PATH": os.environ["PATH"], "HOME": "/home/serve", "REKINDLE_DIR": "/srv/store"} | (env or {})
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", self.script, "sh", *map(str, words)]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)


def test_the_root_of_a_container_starts_warm(published, tmp_path):
    first, _, cold, pulled, key = published
    container = Container(tmp_path, first.programs)
    tried = container.run("true")
    if tried.returncode:
        pytest.skip(f"no user or mount name spaces here: {tried.stderr.strip()}")
    shutil.copy(pulled, container.programs / "job.rkb")
    rekindle = harness.BUILD / "bin/rekindle"
    built = container.run(rekindle, "bundle", "import", "--trust", key, "/srv/programs/job.rkb")
    assert built.returncode == 0, built.stderr
    (container.programs / "job.rkb").unlink()
    env = harness.jax_environment(harness.find_plugin()) | {"REKINDLE_JOB": "serve"}
    env = {name: value for name, value in env.items() if name not in ("HOME", "PATH", "REKINDLE_DIR")}
    started = container.run(rekindle, "run", "--", sys.executable, "/srv/programs/kinds.py", env=env)
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout.splitlines()[-1]) == cold.json()
    stats = json.loads(container.run(rekindle, "stats", "--json").stdout)
    assert_warm(stats)
