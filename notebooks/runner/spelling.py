"""Checks the spelling of all files of the checkout with codespell, which lists common misspellings.

usage: python3 -I notebooks/runner/spelling.py

Needs .venv, which ./reproduce.sh makes, and git. Prints each misspelt word with its file and
line, and fails if there is one.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from checkout import CACHE, PYTHON, ROOT, ReproduceError
from extras import install

FOLDER = CACHE / "codespell"
# Names in code have no spelling, and neither have pictures in notebooks or hashes.
NO_WORDS = r"\b[a-z]+[A-Z]\w*\b|[A-Za-z0-9+/=]{80,}|\b[0-9a-f]{40,}\b"
# Variables of NotDifferentiableErrors, the letter d after an escape \n, and an analyst's word for
# a currency in a list of such words.
NAMES = "nd,zar"


def main():
    try:
        install(FOLDER, "requirements-spelling.txt")
    except ReproduceError as e:
        sys.exit(str(e))
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    code = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import codespell_lib; sys.exit(codespell_lib.main(*sys.argv[1:]))"
    argv = [PYTHON, "-I", "-c", code, "--ignore-regex", NO_WORDS, "--ignore-words-list", NAMES, *filter(None, files)]
    sys.exit(subprocess.run(argv, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
