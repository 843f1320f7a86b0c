"""Programs of other clients of PJRT, in Go and Rust, through their registries.

What is downloaded and built lies in the user's cache, in a folder that is named by the pins. The toolchains must be on
the machine; where they are not, the module is skipped.
"""

import json
import os
import re
import shutil
from pathlib import Path

import common
from common import harness
from starts import Program

BUILD_TIMEOUT_S = 3600

GO_MODULE, GO_VERSION = "github.com/gomlx/go-xla", "v0.1.4"
GO_SUM = "h1:7u1RcRBuCBZefQcmcQXSrJ9PmpxXMbmszmDT4dubibw="
# Its packages with tests that use a plugin.
GO_PACKAGES = {"go-xla/pjrt": "pkg/pjrt", "go-xla/tests": "internal/tests"}

# The crate has its own Cargo.lock.
RUST_VERSION = "0.2.0"
RUST_EXAMPLES = ("basic", "buffer")


def need(tool, package):
    if not shutil.which(tool):
        raise common.Unavailable(f"{tool} is not on this machine ({package})")


def command(argv, **variables):
    done = harness.run_process(argv, dict(os.environ) | variables, timeout_s=BUILD_TIMEOUT_S)
    if done.returncode != 0:
        raise common.Unavailable(f"`{' '.join(map(str, argv))}` failed: {(done.stderr or done.stdout)[-1500:]}")
    return done.stdout


def plugin_folder(folder):
    """A folder that has the plugin by the name under which both clients look for it."""
    plugins = folder / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    link = plugins / "pjrt_c_api_cpu_plugin.so"
    link.unlink(missing_ok=True)
    link.symlink_to(common.python_env("--print-plugin"))
    return str(plugins)


def verdicts(stdout):
    """Of Go's tests, without their durations."""
    return sorted(re.sub(r" \([\d.]+s\)$", "", line.strip()) for line in stdout.splitlines() if "--- " in line[:40])


def go_programs():
    need("go", "Go 1.24.3 or newer")
    folder = common.CACHE / f"go-xla-{GO_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    cache = {"GOMODCACHE": str(folder / "modules"), "GOFLAGS": "-modcacherw"}
    module = json.loads(command(["go", "mod", "download", "-json", f"{GO_MODULE}@{GO_VERSION}"], **cache))
    if module["Sum"] != GO_SUM:
        raise SystemExit(f"{GO_MODULE} {GO_VERSION} is {module['Sum']}, not {GO_SUM}")
    env = harness.clean_environment() | {"PJRT_PLUGIN_LIBRARY_PATH": plugin_folder(folder)}
    programs = []
    for name, package in GO_PACKAGES.items():
        binary = folder / name.replace("/", "-")
        if not binary.exists():
            command(["go", "-C", module["Dir"], "test", "-c", "-o", binary, f"./{package}"], **cache)
        programs.append(Program(name, [binary, "-test.v"], env, verdicts, f"{module['Dir']}/{package}"))
    version = command(["go", "env", "GOVERSION"]).strip().removeprefix("go")
    return {"go-xla": GO_VERSION, "Go": version} | plugin(), programs


def rust_programs():
    need("cargo", "Rust 1.82 or newer")
    need("protoc", "Debian: protobuf-compiler and libprotobuf-dev")
    folder = common.CACHE / f"rust-pjrt-{RUST_VERSION}"
    (folder / "fetch/src").mkdir(parents=True, exist_ok=True)
    (folder / "fetch/src/lib.rs").touch()
    (folder / "fetch/Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\npjrt = "={RUST_VERSION}"\n'
    )
    binaries = [folder / f"target/release/examples/{name}" for name in RUST_EXAMPLES]
    if not all(binary.exists() for binary in binaries):
        manifest = ["--manifest-path", folder / "fetch/Cargo.toml"]
        packages = json.loads(command(["cargo", "metadata", "--format-version", "1", *manifest]))["packages"]
        crate = next(one["manifest_path"] for one in packages if one["name"] == "pjrt")
        clang = sorted((path.parent for path in Path("/usr/lib").glob("llvm-*/lib/libclang.so*")))
        found = {"LIBCLANG_PATH": str(clang[-1])} if clang and "LIBCLANG_PATH" not in os.environ else {}
        build = ["cargo", "build", "--release", "--locked", "--examples", "--target-dir", folder / "target"]
        command([*build, "--manifest-path", crate], **found)
    env = harness.clean_environment() | {"LD_LIBRARY_PATH": plugin_folder(folder)}
    programs = [Program(f"pjrt/{path.name}", [path], env, without_attributes) for path in binaries]
    return {"pjrt": RUST_VERSION, "Rust": command(["rustc", "--version"]).split()[1]} | plugin(), programs


def without_attributes(stdout):
    """The plugin's attributes are printed from a hash map, in another order each time."""
    return [line for line in stdout.splitlines() if "stablehlo_current_version" not in line]


def plugin():
    return common.pinned(["xla-cpu-pjrt"], "jax")
