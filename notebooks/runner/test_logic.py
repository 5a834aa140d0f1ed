"""Tests of the runner that need neither a kernel nor anything installed.

usage: python3 -I notebooks/runner/test_logic.py [-k PATTERN]
"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    unittest.main(module=None, argv=[sys.argv[0], "discover", "-s", str(HERE / "tests"), *sys.argv[1:]])
