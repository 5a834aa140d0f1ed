"""What set-up makes, and what it takes from the user's settings."""

import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import checkout
import environment
from fixtures import Checkout, HERE


class SetUp(unittest.TestCase):
    """What set-up made is known by its hashes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "made")
        for name in ("bin/gonb", "lib/p/a.py", "lib/p/__pycache__/a.cpython-311.pyc"):
            checkout.write_atomic(self.folder / name, name.encode() * 10)
        (self.folder / "bin/python").symlink_to("gonb")
        (self.folder / "lib64").symlink_to("lib")
        self.stamp = self.folder / f"x{environment.STAMP}"
        environment.write_stamp(self.stamp, "key", environment.inventory(self.folder))

    def test_what_is_whole(self):
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        checkout.write_atomic(self.folder / "lib/more.py", b"")  # is not set-up's
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        self.assertEqual(environment.flaw(self.stamp, "other"), "")

    def test_damage_is_named(self):
        gonb, python = self.folder / "bin/gonb", self.folder / "bin/python"
        for change, name in (
            (lambda: os.truncate(gonb, 7), "bin/gonb"),
            (lambda: gonb.write_bytes(gonb.read_bytes().replace(b"g", b"h")), "bin/gonb"),
            (lambda: (self.folder / "lib/p/a.py").unlink(), "lib/p/a.py"),
            (lambda: shutil.rmtree(self.folder / "lib"), "lib"),
            (lambda: (python.unlink(), python.symlink_to("nowhere")), "bin/python"),
            (lambda: (self.folder / "lib64").unlink(), "lib64"),
        ):
            with self.subTest(name):
                self.setUp()
                gonb, python = self.folder / "bin/gonb", self.folder / "bin/python"
                change()
                self.assertRegex(environment.flaw(self.stamp, "key"), rf"\d of its 5 files are missing or changed, such as .*{name}")
        self.setUp()
        (self.folder / "bin/gonb").unlink()  # so that the link to it dangles, too
        self.assertIn("2 of its 5 files", environment.flaw(self.stamp, "key"))

    def test_compiled_python_is_thrown_away(self):
        compiled = self.folder / "lib/p/__pycache__/a.cpython-311.pyc"
        os.truncate(compiled, 3)
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        self.assertFalse(compiled.exists())

    def test_a_damaged_stamp_is_none(self):
        for text in (b"", b"{", b"[]", b"\xff", b'{"made from": "key"}', b'{"made from": "key", "files": 3}'):
            self.stamp.write_bytes(text)
            self.assertEqual(environment.flaw(self.stamp, "key"), "", text)

    def test_what_cannot_be_removed_is_named(self):
        with unittest.mock.patch.object(shutil, "rmtree", side_effect=PermissionError(errno.EACCES, "Permission denied", "x")):
            with self.assertRaisesRegex(checkout.ReproduceError, rf"{self.folder} cannot be made anew .*delete it"):
                environment.remove_damaged(self.folder, "damage")
        for odd in ("file", "dangling link"):
            path = self.folder / odd
            path.touch() if odd == "file" else path.symlink_to("nowhere")
            environment.remove_damaged(path, "")
            self.assertFalse(os.path.lexists(path))

    def test_requirements_have_hashes_and_are_wheels(self):
        files = sorted(HERE.glob("requirements*.txt"))
        self.assertEqual(len(files), 8)
        for path in files:
            lines = [line for line in path.read_text().replace("\\\n", " ").splitlines() if not line.startswith("#")]
            self.assertEqual(lines[:2], ["--require-hashes", "--only-binary :all:"], path.name)
            for line in lines[2:]:
                self.assertRegex(line, r"^(-r requirements\.txt|[\w-]+==[\w.]+(; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+)$", path.name)

    def test_gopls_is_put_into_its_place_whole(self):
        env = {environment.TOOLCHAIN: "go1.26.0 amd64"}

        def build(argv, env, purpose, cwd):
            self.assertEqual(argv[:5], ["nice", "-n", "19", "go", "build"])
            checkout.write_atomic(Path(argv[argv.index("-o") + 1]), b"built")
            self.assertFalse((self.folder / "gopls.bin").exists())

        with unittest.mock.patch.object(environment, "LAB_BIN", self.folder):
            with unittest.mock.patch.object(environment, "command", side_effect=checkout.ReproduceError("building gopls: no network")), self.assertRaises(checkout.ReproduceError):
                environment.build_gopls(env)
            self.assertTrue(environment.gopls_wanted(env))
            self.assertEqual([p.name for p in self.folder.glob("*gopls*")], [])
            with unittest.mock.patch.object(environment, "command", side_effect=build):
                environment.build_gopls(env)
            self.assertFalse(environment.gopls_wanted(env))
            self.assertTrue(environment.gopls_wanted({environment.TOOLCHAIN: "go1.27.0 amd64"}))
            self.assertEqual((self.folder / "gopls.bin").read_bytes(), b"built")
            self.assertIn("nice -n 19", (self.folder / "gopls").read_text())
            self.assertTrue(os.access(self.folder / "gopls", os.X_OK))

    def test_tools_are_no_requirements_of_the_module(self):
        module, tools = ((folder / "go.mod").read_text() for folder in (checkout.ROOT, checkout.TOOLS))
        self.assertNotRegex(module, r"(?m)^tool\b")
        kernel, library = (re.search(r"/gonb (v\S+)", text)[1] for text in (tools, module))
        self.assertEqual(kernel, library)  # the two ends of one protocol


class Environment(unittest.TestCase):
    def test_foreign_settings_are_kept_out(self):
        foreign = {name: "x" for name in ("PYTHONPATH", "PYTHONHOME", "JUPYTER_PATH", "PIP_USER", "PIP_TARGET", "PIP_CONSTRAINT", "PIP_PYTHON", "PIP_NO_BINARY")}
        network = {name: "x" for name in ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT", "PIP_CONFIG_FILE", "HTTPS_PROXY", "GOPROXY")}
        with unittest.mock.patch.dict(os.environ, foreign | network | {"GOWORK": "/x/go.work"}):
            env = environment.base_environment()
        self.assertEqual(env["GOWORK"], "off")
        self.assertFalse(foreign.keys() & env.keys())
        self.assertEqual({name: env[name] for name in network}, network)

    def test_of_go_settings_only_those_of_the_network_count(self):
        go = shutil.which("go")
        if not go:
            self.skipTest("go is not on PATH")
        written = {"GOOS": "windows", "GOARCH": "arm64", "GOWORK": "/x/go.work", "GOTMPDIR": "/nonexistent", "GOFLAGS": "-mod=vendor", "GOAMD64": "v4", "CGO_ENABLED": "1"}
        network = {"GOPROXY": "https://mirror.example", "GONOSUMDB": "private.example", "GOSUMDB": "off"}
        with Checkout(self) as checkout, tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "env")
            file.write_text("".join(f"{k}={v}\n" for k, v in (written | network).items()))
            for how in ({"GOENV": str(file)}, {"XDG_CONFIG_HOME": folder}):
                Path(folder, "go").mkdir(exist_ok=True)
                shutil.copy(file, Path(folder, "go", "env"))
                plain = {k: v for k, v in os.environ.items() if not k.startswith("GO") and k != "CGO_ENABLED"}
                with unittest.mock.patch.dict(os.environ, plain | how, clear=True):
                    env, go, settings = environment.ask_go()
                self.assertEqual({k: env[k] for k in network}, network, how)
                self.assertEqual(settings[environment.TOOLCHAIN].split()[1], subprocess.check_output([go, "env", "GOHOSTARCH"], text=True).strip())
                seen = json.loads(subprocess.check_output([go, "env", "-json", *written], env=env | settings, cwd=checkout.root, text=True))
                for name, value in written.items():
                    self.assertNotEqual(seen[name], value, name)

    def test_one_checkout_compiles_for_all(self):
        if not shutil.which("go"):
            self.skipTest("go is not on PATH")
        source, compiled = f"package shared\n\nconst moment = {time.time_ns()}\n", []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "go.mod").write_text("module shared\n")
                Path(folder, "shared.go").write_text(source)
                done = subprocess.run(["go", "build", "-v", "."], cwd=folder, env=os.environ | environment.GO_SETTINGS, capture_output=True, text=True, check=True)
            compiled.append(done.stderr)
        self.assertEqual(compiled, ["shared\n", ""])

    def test_tools_of_other_versions_or_flags_are_made_anew(self):
        key = environment.tools_key("go1")
        self.assertEqual(environment.tools_key("go1"), key)
        self.assertNotEqual(environment.tools_key("go2"), key)
        with unittest.mock.patch.dict(environment.GO_SETTINGS, GOFLAGS="-x"):
            self.assertNotEqual(environment.tools_key("go1"), key)

    def test_packages_are_compiled_and_not_linked(self):
        if not shutil.which("go"):
            self.skipTest("go is not on PATH")
        with Checkout(self) as checkout:
            (checkout.root / "go.mod").write_text("module cvgm\n\ngo 1.26.0\n")
            (checkout.root / "main.go").write_text("package main\n\nfunc elsewhere()\n\nfunc main() { elsewhere() }\n")
            (checkout.root / "none.s").touch()  # so that a function without a body compiles
            env = os.environ | environment.GO_SETTINGS
            self.assertIn("elsewhere not defined", subprocess.run(["go", "build"], cwd=checkout.root, env=env, capture_output=True, text=True).stderr)
            environment.build_packages(env)
            (checkout.root / "main.go").write_text("package main\n\nfunc main() { elsewhere() }\n")
            with self.assertRaisesRegex(environment.ReproduceError, "(?s)^compiling the project's packages: .*undefined: elsewhere"):
                environment.build_packages(env)

    def test_go_is_asked_for_by_name(self):
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nonexistent"}), self.assertRaisesRegex(checkout.ReproduceError, "go is not on PATH"):
            environment.ask_go()

    def test_usable_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(environment.usable(f"{folder}/a/b"))
        self.assertFalse(environment.usable(""))
        self.assertFalse(environment.usable("/proc/version/a"))
