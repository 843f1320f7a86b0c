"""The preload stub in children of a job with any C library, age and linking, and beside other dlsym libraries."""

import json
import os
import platform
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from faultlib import FAKE, PLUGIN_WAY, PRELOAD, FaultCase

HERE = Path(__file__).resolve().parent
REKINDLE = os.environ["FAULT_REKINDLE"]
OLD_DEBIAN = Path(os.environ.get("REKINDLE_OLD_DEBIAN") or Path.home() / ".cache/rekindle-dev/debian-11")

BARE = "own, the same again, no error; no_such_name: an error; table: none\n"
WATCHED = BARE.replace("own", "replaced", 1)
NO_PLUGIN = "no PJRT plugin was seen to create a client, so there is nothing to keep"
SOMEBODY = 12345  # a user without an account

KINDS = {
    "glibc": ["gcc", "look_up.c"],
    "musl": ["musl-gcc", "look_up.c"],
    "static": ["gcc", "-static", "-DLOOK_UP_STATIC", "look_up.c"],
    "static-musl": ["musl-gcc", "-static", "-DLOOK_UP_STATIC", "look_up.c"],
    "gcc-asan": ["gcc", "-fsanitize=address", "look_up.c"],
    "gcc-tsan": ["gcc", "-fsanitize=thread", "look_up.c"],
    "clang-asan": ["clang", "-fsanitize=address", "look_up.c"],
}
if platform.machine() == "x86_64":
    KINDS["32-bit"] = ["gcc", "-m32", "-nostdlib", "-pie", "-Wl,--dynamic-linker=/lib/ld-linux.so.2", "child_32_bit.S"]


def setUpModule():
    global FOLDER, PLUGIN
    FOLDER = Path(tempfile.mkdtemp(prefix="rekindle-children-"))
    unittest.addModuleCleanup(shutil.rmtree, FOLDER, ignore_errors=True)
    PLUGIN = build("plugin.so", "gcc", "-shared", "-fPIC", "-nostdlib", "child_plugin.c")


def build(name, compiler, *arguments):
    """Builds a program or library in FOLDER once. Sources are beside this file."""
    path = FOLDER / name
    if not path.exists():
        if not shutil.which(compiler):
            raise AssertionError(f"{compiler} is not installed: run scripts/setup")
        *options, source = arguments
        command = [compiler, "-g", "-O1", "-pthread", *options, HERE / source, "-o", path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{command}\n{done.stderr}")
    return str(path)


def child(kind):
    return build(f"child-{kind}", *KINDS[kind])


class ChildCase(FaultCase):
    def start(self, *command, preload=None, cwd=None, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.place.path, "REKINDLE_DIR": self.place.store,
                       "REKINDLE_LOG": "error", "TSAN_OPTIONS": "report_bugs=0", **variables}
        if preload:
            environment["LD_PRELOAD"] = preload
        done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr


class Kinds(ChildCase):
    def test_all_run_as_bare(self):
        """Under `rekindle run` every child has the same status, stdout and stderr, even with a user's ASAN_OPTIONS."""
        for kind in KINDS:
            for set_before in ({}, {"ASAN_OPTIONS": "exitcode=86"}):
                with self.subTest(kind=kind, set_before=set_before):
                    bare = self.start(child(kind), "core", **set_before)
                    self.assertEqual((bare[0], bare[2]), (7, ""))
                    job = self.start(REKINDLE, "run", "--", child(kind), "core", **set_before)
                    if kind == "32-bit":  # ld.so's own message, quoted in docs/limits.md
                        self.assertIn("from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS64): ignored.", job[2])
                        self.assertEqual(job[2].count("\n"), 1)
                        job = (*job[:2], "")
                    self.assertEqual(job, bare)
        self.assertFalse(os.path.exists(self.place.store))

    def test_the_users_word_about_the_link_order_stands(self):
        status, _, stderr = self.start(REKINDLE, "run", "--", child("gcc-asan"), ASAN_OPTIONS="verify_asan_link_order=1")
        self.assertEqual(status, 1)
        self.assertIn("ASan runtime does not come first", stderr)

    def test_a_missing_library_is_ignored(self):
        """If the library's path does not exist, as in a container, ld.so prints a message and the program runs."""
        status, stdout, stderr = self.start(child("glibc"), "core", preload="/nowhere/librekindle_preload.so")
        self.assertEqual((status, stdout), (7, "core: not mapped\n"))
        self.assertEqual(stderr, "ERROR: ld.so: object '/nowhere/librekindle_preload.so' from LD_PRELOAD cannot be "
                                 "preloaded (cannot open shared object file): ignored.\n")
        self.assertEqual(self.start(child("musl"), "core", preload="/nowhere/librekindle_preload.so"),
                         (7, "core: not mapped\n", ""))

    def test_with_a_plugin(self):
        """Core is loaded at the first look-up of GetPjrtApi. Without glibc, rekindle warns once and changes nothing."""
        words = ["core", PLUGIN, "core", PLUGIN]
        for kind in ("glibc", "gcc-asan", "gcc-tsan", "clang-asan"):
            with self.subTest(kind=kind):
                status, stdout, stderr = self.start(REKINDLE, "run", "--", child(kind), *words)
                self.assertEqual((status, stderr), (7, ""))
                self.assertEqual(stdout, f"core: not mapped\n{WATCHED}core: mapped\n{WATCHED}")
        status, stdout, stderr = self.start(REKINDLE, "run", "--", child("musl"), *words)
        self.assertEqual((status, stdout), (7, f"core: not mapped\n{BARE}core: not mapped\n{BARE}"))
        self.assertEqual(stderr, "rekindle: the C library of this process is not glibc; this process runs without "
                                 "rekindle\n")

    def test_threads(self):
        for _ in range(20):
            self.assertEqual(self.start(child("glibc"), "threads=" + PLUGIN, preload=PRELOAD),
                             (7, "8 of 8 the same\n", ""))


class Linked(ChildCase):
    """A program that is linked to its plugin."""

    LINKED = os.environ["FAULT_LINKED"]

    def test_the_preload_does_not_see_it(self):
        status, stdout, stderr = self.start(REKINDLE, "run", "--", self.LINKED, REKINDLE_LOG="warn")
        self.assertEqual((status, stdout), (7, "a client\n"))
        remedy = 'preload librekindle_pjrt.so into it, see "The plugin entry path" in docs/settings.md'
        self.assertEqual(stderr, f"rekindle: {NO_PLUGIN}: {self.LINKED} is linked to its plugin: {remedy}\n")
        self.assertEqual(self.place.events(), [])

    def test_the_plugin_way_in_preloaded(self):
        """Preloading the plugin library works as docs/settings.md describes."""
        status, stdout, stderr = self.start(REKINDLE, "run", "--", "env", f"LD_PRELOAD={PLUGIN_WAY}",
                                            f"REKINDLE_PLUGIN={FAKE}", self.LINKED, REKINDLE_LOG="warn")
        self.assertEqual((status, stdout, stderr), (7, "a client\n", "rekindle: 0 programs, 0 loaded, 0 compiled\n"))
        self.assertEqual([event["way_in"] for event in self.place.events("start")], ["plugin"])
        self.assertEqual(len(self.place.events("client")), 1)


class Unseen(ChildCase):
    """`rekindle run` prints why it saw no plugin, if the command's file shows the reason."""

    def said(self, *command, **variables):
        _, _, stderr = self.start(REKINDLE, "run", "--", *command, REKINDLE_LOG="warn", **variables)
        (line,) = [line for line in stderr.splitlines() if line.startswith("rekindle: ")]
        return line.removeprefix(f"rekindle: {NO_PLUGIN}")

    def script(self, name, first_line):
        path = os.path.join(self.place.path, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(first_line + "\n")
        os.chmod(path, 0o755)
        return path

    def test_what_nothing_can_be_preloaded_into(self):
        static = "is linked statically, so that nothing can be preloaded into it: link it dynamically"
        says = {"static": static, "static-musl": static,
                "musl": "runs on musl, with which rekindle does not work: build it for glibc",
                "32-bit": "is a 32-bit program, into which rekindle cannot be loaded"}
        for kind in KINDS:
            with self.subTest(kind=kind):
                found = self.said(child(kind))
                if kind in says:
                    self.assertEqual(found, f": {child(kind)} {says[kind]}")
                else:
                    ended = "; the command ended with status 7, maybe before it used a plugin"
                    self.assertRegex(found, rf"\A{ended} \(the built-in CPU backends of JAX .*\)\Z")

    def test_by_its_name_and_in_scripts(self):
        """The reason comes from the file that execvp(3) finds, and for a script from its interpreter."""
        static, path = child("static"), f"{FOLDER}:{os.environ['PATH']}"
        reason = f": {static} is linked statically, "
        self.assertTrue(self.said("child-static", PATH=path).startswith(reason))
        inner = self.script("inner", f"#! {static} word")
        for first_line in (f"#!{static}", f"#!{inner}", "#!/usr/bin/env -S A=b child-static word"):
            script = self.script("script", first_line)
            self.assertTrue(self.said(script, PATH=path).startswith(reason), first_line)
        self.assertIn(" (the built-in CPU backends", self.said(self.script("shell", "#!/bin/sh")))

    def test_verify_says_it_too(self):
        (FOLDER / "nothing.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        nothing = build("nothing", "gcc", "-static", FOLDER / "nothing.c")
        status, stdout, _ = self.start(REKINDLE, "verify", "--json", "--", nothing)
        self.assertEqual(status, 1)
        self.assertRegex(json.loads(stdout)["reason"], f"no PJRT plugin was seen, .*; {nothing} is linked statically, ")

    def test_another_user(self):
        """An ordinary user runs a set-user-ID program: the message explains that nothing can be preloaded into it."""
        programs = [path for path in ("/usr/bin/passwd", "/usr/bin/su", "/bin/su", "/usr/bin/chsh", "/usr/bin/mount")
                    if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID]
        if not programs:
            self.skipTest("this machine has no set-user-ID program")
        prefix, rekindle = [], REKINDLE
        if os.geteuid() == 0:
            installed = os.path.join(self.place.path, "installed")
            shutil.copytree(os.path.dirname(PRELOAD), os.path.join(installed, "lib"))
            os.mkdir(os.path.join(installed, "bin"))
            rekindle = shutil.copy(REKINDLE, os.path.join(installed, "bin"))
            os.mkdir(self.place.store, 0o700)
            os.chown(self.place.store, SOMEBODY, SOMEBODY)
            os.chmod(self.place.path, 0o755)
            prefix = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
            try:
                reached = subprocess.run([*prefix, "test", "-x", rekindle], check=False).returncode == 0
            except FileNotFoundError:
                reached = False
            if not reached:
                self.skipTest("no other user can be had here, or none that can reach the temporary directory")
        _, _, stderr = self.start(*prefix, rekindle, "run", "--", programs[0], "--help", REKINDLE_LOG="warn")
        self.assertIn(f"rekindle: {NO_PLUGIN}: {programs[0]} changes its user as it starts (set-user-ID), so the "
                      "loader ignores LD_PRELOAD in it: start `rekindle run` as the user and group that the program "
                      "changes to, or use a copy of the program without these rights\n",
                      stderr)
        if os.geteuid() == 0:  # set-user-ID changes nothing for root
            self.assertIn(" (the built-in CPU backends", self.said(programs[0], "--help", REKINDLE_DIR=self.place.path + "/own"))


class Places(ChildCase):
    def test_a_link(self):
        """Through a symbolic link to the stub, core is found beside the link's target."""
        link = os.path.join(self.place.path, "preload.so")
        os.symlink(PRELOAD, link)
        self.assertEqual(self.start(child("glibc"), PLUGIN, preload=link), (7, WATCHED, ""))

    def test_a_relative_path(self):
        """With a relative LD_PRELOAD, core is found beside the stub, also after a change of directory."""
        folder, name = os.path.split(PRELOAD)
        for preload in (f"./{name}", name):
            with self.subTest(preload=preload):
                done = self.start(child("glibc"), "cd=/", PLUGIN, preload=preload, cwd=folder, LD_LIBRARY_PATH=folder)
                self.assertEqual(done, (7, f"cd: done\n{WATCHED}", ""))

    def test_core_is_missing(self):
        alone = shutil.copy(PRELOAD, self.place.path)
        self.assertEqual(self.start(child("glibc"), "core", preload=alone), (7, "core: not mapped\n", ""))
        status, stdout, stderr = self.start(child("glibc"), PLUGIN, PLUGIN, preload=alone)
        self.assertEqual((status, stdout), (7, BARE + BARE))
        core = os.path.join(self.place.path, "librekindle_core.so")
        self.assertEqual(stderr, f"rekindle: {core}: cannot open shared object file: No such file or directory; "
                                 "this process runs without rekindle\n")

    def test_two_installations(self):
        """With two preloaded installations, a table is wrapped only once."""
        other = os.path.join(self.place.path, "lib")
        shutil.copytree(os.path.dirname(PRELOAD), other)
        preload = f"{PRELOAD}:{other}/{os.path.basename(PRELOAD)}"
        outcome = self.run_sound("bare", ["client", "compile=name=a", "execute"], environment={"LD_PRELOAD": preload})
        self.assertEqual(len(outcome.real_compiles()), 1)
        self.assertEqual(len(self.place.events("compile")), 1)


class Neighbours(ChildCase):
    """Another library that interposes dlsym and finds the next one with dlvsym(RTLD_NEXT)."""

    def neighbour(self, name, *options):
        return build(f"{name}.so", "gcc", "-shared", "-fPIC", f'-DNEIGHBOUR_NAME="{name}"', *options, "dlsym_neighbour.c")

    def test_on_either_side(self):
        first = self.neighbour("first")
        last = self.neighbour("last", "-Wl,--hash-style=sysv")
        counts = os.path.join(self.place.path, "counts")
        # Not tested: two such neighbours in a row. The first skips the second, with and without rekindle.
        for libraries in ([first, PRELOAD], [PRELOAD, first], [PRELOAD, last], [first, PRELOAD, last]):
            with self.subTest(libraries=[os.path.basename(path) for path in libraries]):
                self.fresh()
                outcome = self.run_sound("bare", ["table", "client", "compile=name=a"],
                                         environment={"LD_PRELOAD": ":".join(libraries), "DLSYM_COUNTS": counts})
                self.assertFalse(outcome.of("table")[0]["is_bare"], "its plugin was not watched")
                self.assertEqual(len(self.place.events("compile")), 1)
                for path in libraries:
                    if path != PRELOAD:
                        name = os.path.basename(path)[: -len(".so")]
                        with open(f"{counts}.{name}", encoding="ascii") as file:
                            plugins, _ = map(int, file.read().split())
                        self.assertGreater(plugins, 0, f"{name} lost its turn")
                        os.remove(f"{counts}.{name}")


# Looks up GetPjrtApi with DynaLoader of perl-base, which every Debian has.
PERL = """
use DynaLoader;
my $library = DynaLoader::dl_load_file($ARGV[0], 1) or die DynaLoader::dl_error();
for (1 .. 2) {
    my $found = DynaLoader::dl_find_symbol($library, "GetPjrtApi");
    my $own = DynaLoader::dl_find_symbol($library, "own_get_pjrt_api");
    print $found == $own ? "own" : "replaced", "\\n";
}
"""


@unittest.skipUnless(OLD_DEBIAN.is_dir(), f"{OLD_DEBIAN} is not there: run scripts/old-debian")
class OldGlibc(ChildCase):
    """Programs of an older Debian with their own C library, as in a container."""

    def old(self, *command, preload=None):
        loader = next(OLD_DEBIAN.glob("lib/*-linux-gnu/ld-*.so"))  # the link to it is absolute
        libraries = ":".join(str(path) for path in OLD_DEBIAN.glob("*/*-linux-gnu"))
        start = [loader, "--library-path", libraries]
        if preload:
            start += ["--preload", preload]
        program, *arguments = command
        return self.start(*start, OLD_DEBIAN / program, *arguments, PERL5LIB=":".join(
            str(path) for path in (OLD_DEBIAN / "usr/lib").glob("*/perl-base")))

    def test_no_plugin(self):
        bare = self.old("usr/bin/perl", "-e", "print 'out'; exit 5")
        self.assertEqual(bare, (5, "out", ""))
        self.assertEqual(self.old("usr/bin/perl", "-e", "print 'out'; exit 5", preload=PRELOAD), bare)

    def test_a_plugin(self):
        bare = self.old("usr/bin/perl", "-e", PERL, PLUGIN)
        self.assertEqual(bare, (0, "own\nown\n", ""))
        status, stdout, stderr = self.old("usr/bin/perl", "-e", PERL, PLUGIN, preload=PRELOAD)
        self.assertEqual((status, stdout), (0, "own\nown\n"))
        self.assertRegex(stderr, r"\Arekindle: .*version `GLIBC_\S+' not found \(required by .*librekindle_core.so\); "
                                 r"this process runs without rekindle\n\Z")


if __name__ == "__main__":
    unittest.main()
