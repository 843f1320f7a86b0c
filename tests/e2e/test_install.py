"""`make install`: the files, completion in real shells, the man pages, and jobs from several kinds of environments."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import harness
import pytest
from terminal import Terminal

# Imports what a library of the wrong OpenSSL, C++ or BLAS would break, and compiles one program.
JOB = """
import json, ssl, sys
import numpy, jax
answer = jax.jit(lambda x: jax.numpy.tanh(x @ x.T).sum())(numpy.ones((4, 4), numpy.float32))
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libssl.so" in line}
print(json.dumps({"openssl": ssl.OPENSSL_VERSION, "libssl": sorted(libraries), "prefix": sys.prefix,
                  "ciphers": len(ssl.create_default_context().get_ciphers()), "answer": float(answer)}))
"""
NEEDED = {"bash": "bash", "zsh": "zsh", "fish": "fish", "man": "man-db", "mandoc": "mandoc"}


def need(command):
    if not shutil.which(command):
        pytest.skip(f"{command} is missing: scripts/setup --check installs the package {NEEDED[command]}")


def install(prefix):
    command = ["cmake", "--install", harness.BUILD, "--prefix", prefix, "--strip"]
    done = harness.run_process(command, dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    return prefix


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A prefix into which rekindle was installed."""
    return install(tmp_path_factory.mktemp("installed") / "prefix")


class Job:
    """The job of one Python, started by an installed rekindle."""

    def __init__(self, prefix, python, folder, env=None):
        self.prefix, self.python = prefix, python
        self.store = harness.Store(folder / "store")
        self.env = harness.FAST | (env or {})

    def start(self, way="run"):
        """Runs the job to its end; returns its answers, and what is on stderr."""
        front = [self.prefix / "bin/rekindle", "run", "--"] if way == "run" else []
        environment = self.store.environment(way, self.env)
        done = harness.run_process([*front, self.python, "-c", JOB], environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.json(), done.stderr

    def restart(self):
        """A cold and a warm start, both with the answers of a bare one, which are returned."""
        bare, _ = self.start("bare")
        cold, told = self.start()
        assert " 0 loaded" in told, told
        warm, told = self.start()
        assert " 0 compiled" in told, told
        assert bare == cold == warm
        return bare


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A virtual environment that sees JAX."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    packages.joinpath("jax.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture(scope="module")
def restarted(prefix, venv, tmp_path_factory):
    """A job of the virtual environment after a cold and a warm start, and its answers."""
    job = Job(prefix, venv / "bin/python", tmp_path_factory.mktemp("job"))
    return job, job.restart()


def test_the_files(prefix):
    for name in (
        "bin/rekindle", "include/rekindle.h", "lib/librekindle_preload.so", "lib/librekindle_core.so",
        "lib/librekindle_pjrt.so", "share/bash-completion/completions/rekindle", "share/zsh/site-functions/_rekindle",
        "share/fish/vendor_completions.d/rekindle.fish", "share/doc/rekindle/LICENSE",
    ):  # fmt: skip
        assert (prefix / name).is_file(), name
    pages = {path.name for path in (harness.ROOT / "docs").glob("*.md")}
    assert {path.name for path in (prefix / "share/doc/rekindle").glob("*.md")} == pages
    answer = json.loads(harness.run_process([prefix / "bin/rekindle", "help", "--json"], dict(os.environ)).stdout)
    verbs = {f"rekindle-{one['command']}.1" for one in answer["commands"]}
    assert {path.name for path in (prefix / "share/man/man1").iterdir()} == {"rekindle.1"} | verbs


def test_the_links_of_the_installed_docs(prefix):
    check = harness.ROOT / "tests/style/check_links.py"
    done = harness.run_process([sys.executable, "-I", check, "--root", prefix / "share/doc/rekindle"], dict(os.environ))
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


# How each shell starts without the files of this user, and reads the installed or the printed script.
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "source {share}/bash-completion/completions/rekindle",
        "source <(rekindle completion bash)",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "bindkey -e; fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D",
        "bindkey -e; autoload -Uz compinit; compinit -u -D; source <(rekindle completion zsh)",
    ),
    # fish finds the installed script through XDG_DATA_DIRS.
    "fish": (
        ["fish", "-i"],
        "set -g fish_autosuggestion_enabled 0",
        "set -g fish_autosuggestion_enabled 0; rekindle completion fish | source",
    ),
}


def shell_environment(prefix, home, store, *, found):
    environment = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    share = f"{prefix}/share:" if found else ""
    return environment | {"REKINDLE_DIR": str(store.directory), "XDG_DATA_DIRS": f"{share}/usr/local/share:/usr/share"}


@pytest.mark.parametrize("script", ["installed", "printed"])
@pytest.mark.parametrize("shell", SHELLS)
def test_completion(shell, script, prefix, restarted, tmp_path):
    need(shell)
    job, _ = restarted
    (tmp_path / "some folder").mkdir()
    (run, _) = reversed(job.store.runs())
    argv, installed, printed = SHELLS[shell]
    setup = (installed if script == "installed" else printed).format(share=prefix / "share")
    environment = shell_environment(prefix, tmp_path, job.store, found=script == "installed")
    with Terminal(argv, environment) as terminal:
        # The quotes keep the echo of what is typed from looking like its output.
        terminal.type(f"cd {tmp_path}; {setup}; echo re''ady\r")
        terminal.wait_for("^ready$")
        assert terminal.completed("rekindle expl") == "rekindle explain"
        assert terminal.completed("rekindle explain --st") == "rekindle explain --stack"
        assert terminal.completed("rekindle run --mode=reado") == "rekindle run --mode=readonly"
        assert terminal.completed("rekindle ls --sort sec") == "rekindle ls --sort seconds"
        assert terminal.completed("rekindle stats --run la") == "rekindle stats --run last"
        assert terminal.completed(f"rekindle stats --run={run[:-1]}") == f"rekindle stats --run={run}"
        assert terminal.completed("rekindle show jit__la") == "rekindle show jit__lambda"
        assert terminal.completed("rekindle run -- trunca") == "rekindle run -- truncate"
        assert terminal.completed("rekindle stats --dir so").replace("\\", "").rstrip("/") == (
            "rekindle stats --dir some folder"
        )
        assert terminal.completed(f"{prefix}/bin/rekindle fs") == f"{prefix}/bin/rekindle fsck"
        # All that may come next, with a second tab.
        terminal.type("rekindle ver\t\t")
        terminal.wait_for("verify")
        terminal.wait_for("version")


def test_man_pages_render(prefix):
    need("man")
    environment = harness.clean_environment() | {"MANWIDTH": "80", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"}
    done = harness.run_process(["man", "-M", prefix / "share/man", "rekindle-explain"], environment)
    assert done.returncode == 0, done.stderr
    text = re.sub(r".\x08", "", done.stdout)
    assert "rekindle-explain - why a run compiled what it compiled, and what to do" in text
    assert re.search(r"^ +-r, --run RUN$", text, re.M), text
    pages = sorted((prefix / "share/man/man1").iterdir())
    done = harness.run_process(["man", "--warnings", "-l", *pages], environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("SEE ALSO") == len(pages)


def test_man_pages_have_no_fault(prefix):
    need("mandoc")
    pages = sorted((prefix / "share/man/man1").iterdir())
    done = harness.run_process(["mandoc", "-T", "lint", "-W", "warning", *pages], dict(os.environ))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_a_virtual_environment(restarted, venv):
    _, answers = restarted
    assert answers["prefix"] == str(venv)
    assert answers["ciphers"] > 0


@pytest.fixture(scope="module")
def own_python(tmp_path_factory):
    """A prefix as conda makes it: Python, its libssl and libcrypto, and rekindle beside them."""
    prefix = install(tmp_path_factory.mktemp("own") / "before")
    library = Path(sysconfig.get_path("stdlib"))
    os.symlink(library, prefix / "lib" / library.name)
    shutil.copy(os.path.realpath(sys.executable), prefix / "bin/python3")
    import _ssl

    linked = subprocess.run(["ldd", _ssl.__file__], capture_output=True, text=True, check=True).stdout
    for path in re.findall(r"=> (/\S+/lib(?:ssl|crypto)\.so\.\S+)", linked):
        shutil.copy(path, prefix / "lib")
    return prefix


def test_a_prefix_with_its_own_python_that_moves(own_python, tmp_path):
    moved = own_python.parent / "after"

    def start(prefix):
        env = {"LD_LIBRARY_PATH": prefix / "lib", "PYTHONPATH": sysconfig.get_path("purelib")}
        answers, told = Job(prefix, prefix / "bin/python3", tmp_path, env).start()
        assert answers.pop("prefix") == str(prefix)
        (libssl,) = answers.pop("libssl")
        assert Path(libssl).parent == prefix / "lib"
        return answers, told

    before, told = start(own_python)
    assert " 0 loaded" in told, told
    own_python.rename(moved)
    after, told = start(moved)
    assert " 0 compiled" in told, told
    assert before == after
    told = json.loads(harness.run_process([moved / "bin/rekindle", "version", "--json"], dict(os.environ)).stdout)
    assert told["libraries"]["preload"] == {"path": str(moved / "lib/librekindle_preload.so"), "found": True}
