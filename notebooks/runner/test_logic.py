"""Tests of the runner that need neither a kernel nor anything installed.

usage: python3 -I notebooks/runner/test_logic.py [-k PATTERN]
"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 240  # s for a test; go test, which runs them, ends after 600

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    import watchdog

    unittest.main(module=None, argv=[sys.argv[0], "discover", "-s", str(HERE / "tests"), *sys.argv[1:]], testRunner=watchdog.runner(LIMIT))
