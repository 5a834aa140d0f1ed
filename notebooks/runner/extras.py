"""Python packages that only tests need, each set in a folder of its own beside .venv."""

import shutil
import sys

from checkout import PYTHON, RUNNER, ReproduceError, digest, write_atomic
from environment import PIP_OPTIONS, base_environment
from processes import command


def install(folder, requirements):
    """The pinned packages of a requirements file in the folder, by the pip of .venv."""
    if not PYTHON.exists():
        raise ReproduceError(f"{PYTHON} is missing: run ./reproduce.sh once")
    wanted = RUNNER / requirements
    key, stamp = digest(sys.version, wanted.read_bytes()), folder / "installed"
    if not stamp.exists() or stamp.read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
        argv = [PYTHON, "-I", "-m", "pip", *PIP_OPTIONS, "install", "-q", "--target", folder, "-r", wanted]
        command(argv, base_environment(), f"installing {requirements}")
        write_atomic(stamp, key.encode())
