"""Tests of ./reproduce.sh with real kernels, in a copy of this checkout.

usage: python3 -I notebooks/runner/test_runs.py [-k PATTERN] [--required]

With --required, JupyterLab is set up where it is missing; without, the tests that
need it are skipped there.
"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 3600  # s for a test

if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE / "runs")]
    import small
    import watchdog

    small.required = "--required" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--required"]
    unittest.main(module=None, argv=[sys.argv[0], "discover", "-v", "-s", str(HERE / "runs"), *sys.argv[1:]], testRunner=watchdog.runner(LIMIT))
