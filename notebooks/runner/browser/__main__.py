"""Does what users do, in a real JupyterLab and a real browser.

usage: python3 -I notebooks/runner/browser [--required] [--soak MINUTES] [--cells ROUNDS] [TEST …]

TEST is a module, class or method, such as test_journeys or
test_live.Live.test_speed. --required fails where there is no Chromium; without it
that skips the tests. --soak plays with the live notebook for so long and prints
what the cell's process takes in memory. --cells runs every notebook and prints how
long each cell takes that shows something, as the median of so many runs.

The tests run in .work/browser, in a copy of this checkout. Screenshots go to
.work/screenshots. Times are printed and decide nothing.
"""

import argparse
import sys
import unittest
from pathlib import Path

import harness


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--required", action="store_true")
    arguments.add_argument("--soak", type=float, metavar="MINUTES")
    arguments.add_argument("--cells", type=int, metavar="ROUNDS")
    arguments.add_argument("tests", metavar="TEST", nargs="*")
    args = arguments.parse_args()
    if not harness.chromium():
        words = "there is no Chromium on PATH (Debian and Ubuntu: apt-get install chromium)"
        if args.required:
            sys.exit(words)
        print(f"skipped: {words}")
        return
    harness.make_checkout()
    if args.soak:
        import test_live

        test_live.soak(args.soak)
        return
    if args.cells:
        import cell_times

        cell_times.measure(args.cells)
        return
    tests = args.tests or sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    unittest.main(module=None, argv=[sys.argv[0], *tests], verbosity=2)


if __name__ == "__main__":
    main()
