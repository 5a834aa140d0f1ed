"""What is set up, and the environment that it is set up in."""

import json
import random
import shutil
import subprocess
import time
from pathlib import Path

from small import ROOT, WRITES, Small


class SetUp(Small):
    def test_a_hostile_environment(self):
        self.notebook("01_first", WRITES)
        home = Path(self.folder.name, "home")
        home.mkdir()
        caches = json.loads(subprocess.check_output(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], text=True))
        written = Path(self.folder.name, "go-env")  # by go env -w
        written.write_text("GOOS=windows\nGOARCH=arm64\nGOWORK=/nonexistent/go.work\nGOTMPDIR=/nonexistent\nGOFLAGS=-mod=vendor\n")
        pip = Path(self.folder.name, "pip.conf")
        pip.write_text("[install]\nuser = true\n")
        self.reproduce(
            HOME=str(home),
            **caches,
            GOENV=str(written),
            PIP_CONFIG_FILE=str(pip),
            GOFLAGS="-mod=mod",
            GOWORK="off",
            GOARCH="arm64",
            PYTHONPATH="/nonexistent",
            PYTHONHOME="/nonexistent",
            JUPYTER_PATH="/nonexistent",
            JUPYTER_DATA_DIR="/nonexistent",
        )
        self.assertEqual(list(home.rglob("*")), [], "something was written to the user's home")
        kernelspec = json.loads((self.checkout / ".venv/share/jupyter/kernels/gonb/kernel.json").read_text())
        self.assertEqual(kernelspec["argv"][0], str(self.checkout / ".cache/bin/gonb"))

    def test_a_damaged_kernel_is_made_anew(self):
        self.notebook("01_first", WRITES)
        gonb = self.checkout / ".cache/bin/gonb"
        whole = gonb.read_bytes()
        self.keep(".cache/bin")
        for damage in (whole[:1000], b"not a program", None):
            gonb.unlink()
            if damage is not None:
                gonb.write_bytes(damage)
                gonb.chmod(0o755)
            self.assertIn(f"{gonb.parent} is damaged and is made anew: 1 of its 2 files are missing or changed, such as gonb", self.reproduce("--force"))
            self.assertEqual(gonb.read_bytes(), whole)

    def wheels(self):
        """What lets pip install offline what the requirements name."""
        if not hasattr(SetUp, "house"):
            house = Path(self.folder.name, "wheels")
            pip = [ROOT / ".venv/bin/python", "-I", "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", house]
            done = subprocess.run([*pip, "-r", ROOT / "notebooks/runner/requirements.txt"], capture_output=True, text=True)
            SetUp.house = str(house) if done.returncode == 0 else None
        if SetUp.house is None:
            self.skipTest("the wheels of requirements.txt cannot be downloaded")
        return {"PIP_FIND_LINKS": SetUp.house}

    def test_a_damaged_python_environment_is_made_anew(self):
        wheels = self.wheels()
        self.keep(".venv")
        self.notebook("01_first", WRITES)
        shutil.rmtree(self.checkout / ".venv")
        self.reproduce(**wheels)  # makes it without JupyterLab
        python = self.checkout / ".venv/bin/python"
        package = next((self.checkout / ".venv").glob("lib/python*/site-packages/nbclient"))
        for damage in (
            lambda: (package / "client.py").unlink(),
            lambda: shutil.rmtree(package),
            lambda: (python.unlink(), python.symlink_to("/nonexistent/python")),
        ):
            damage()
            self.assertRegex(self.reproduce("--force", **wheels), r"/\.venv is damaged and is made anew: \d+ of its \d+ files are missing or changed, such as ")
            self.assertNotIn("damaged", self.reproduce("--force"))
        compiled = next((package / "__pycache__").glob("client.*.pyc"))
        data = compiled.read_bytes()
        compiled.unlink()
        compiled.write_bytes(data[:100])
        self.assertIn("nothing changed", self.reproduce("--force"))

    def test_killed_during_set_up(self):
        wheels = self.wheels()
        self.keep(".venv")
        self.notebook("01_first", WRITES)
        shutil.rmtree(self.checkout / ".venv")
        process = self.start(**wheels)
        pip = self.wait_for(lambda: [p for p in Path("/proc").glob("[0-9]*") if self.owned(p) and b"requirements.txt" in self.command_line(p)])
        self.assertTrue(pip, "pip never ran")
        time.sleep(random.uniform(0, 2))
        process.kill()
        process.communicate()
        self.assertIn("files changed: 2", self.reproduce(**wheels))
        self.assertNotIn("setting up", self.reproduce("--force"))

    def test_no_network_on_the_first_run(self):
        self.notebook("01_first", WRITES)
        nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"}
        for part, env, what in (
            (".venv", nowhere, "installing Python packages that run notebooks"),
            (".cache/bin", {"GOPROXY": "http://127.0.0.1:9", "GOMODCACHE": str(self.folder.name) + "/modules"}, "building gonb and goimports"),
        ):
            with self.subTest(part):
                self.keep(part)
                shutil.rmtree(self.checkout / part)
                said = self.reproduce(status=1, **env)
                self.doCleanups()
            last = said.splitlines()[-1]
            self.assertRegex(last, rf"^reproduce: {what}: the network cannot be reached \([cC]onnection refused\); .*run again$")
            self.assertNotIn("Retrying", said)

    def test_missing_tools(self):
        tools = Path(self.folder.name, "tools")
        tools.mkdir()
        (tools / "dirname").symlink_to(shutil.which("dirname"))
        self.assertIn("python3 is not on PATH", self.reproduce(PATH=str(tools), status=1))
        self.notebook("01_first", WRITES)
        python = subprocess.check_output(["python3", "-c", "import sys; print(sys.executable)"], text=True).strip()
        (tools / "python3").symlink_to(python)
        self.assertIn("go is not on PATH", self.reproduce(PATH=str(tools), status=1))
