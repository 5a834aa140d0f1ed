"""The places and files of the checkout, and what the user reads of a run.

.venv/   Python with nbclient (and JupyterLab, once asked for) and the GoNB kernelspec
.cache/  GoNB and its helpers as built from the module in notebooks/runner/tools, and
         files that programs would keep in the user's home
.work/   the store of results, the settings that explore was left with, and how long runs took
runs/    the outputs of runs with -p and of interactive runs

The modules that this one and __main__ import need only the standard library: they
run before anything is installed.
"""

import hashlib
import json
import logging
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "notebooks" / "runner"
TOOLS = RUNNER / "tools"  # a module of its own, so that who imports this one does not get the tools' requirements
NOTEBOOKS = ROOT / "notebooks"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
CACHE = ROOT / ".cache"
BIN = CACHE / "bin"
LAB_BIN = CACHE / "bin-lab"
WORK = ROOT / ".work"
RUNS = ROOT / "runs"  # of runs with parameters from the command line, in a folder that people see

log = logging.getLogger("reproduce")


class ReproduceError(Exception):
    """An error with a message for the user; it is shown without a traceback."""


def in_words(error):
    """An error as the user reads it."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename and error.strerror else str(error)


def write_atomic(path, data):
    """Writes bytes so that path holds the old or the new content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except OSError as e:  # which names the file only where it could not be opened
        raise OSError(e.errno, e.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        h.update(b"%d:" % len(data) + data)
    return h.hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def write_if_changed(path, text):
    if not path.exists() or path.read_bytes() != text.encode():
        write_atomic(path, text.encode())
