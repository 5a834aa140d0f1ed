"""The working copies of the notebooks, which JupyterLab opens.

notebooks/copies holds one copy of each experiment. A copy is written only where
there is none, or where ./reproduce.sh reset names it; the replaced file is kept.
"""

import datetime
import json
import os
import posixpath
import re

from checkout import NOTEBOOKS, ROOT, ReproduceError, log, sha256, write_atomic, write_if_changed

FOLDER = NOTEBOOKS / "copies"
KEY = "cvgm_copy"  # in a copy's metadata
WORKSPACE = ".workspace.sh"  # what the first cell of a notebook runs, in the notebook's folder

HEADER = """*This is a working copy of [NAME](../NAME.ipynb): change what you like. `./reproduce.sh reset NAME` replaces it by the original and keeps yours in `notebooks/copies/replaced`.*"""


def path_of(original):
    return FOLDER / original.name


def name_of(text):
    """The name of the notebook of which text is the name or path of a copy; other texts as they are."""
    name = text.removeprefix("./").removeprefix(f"{NOTEBOOKS}/").removeprefix("notebooks/")
    folder, _, stem = name.rpartition("/")
    return stem if folder == FOLDER.name and stem else text


def digest(notebook):
    """A digest of the text and code of a notebook (a dict); package notebook computes it, too."""
    parts = [[cell["cell_type"], "".join(cell["source"])] for cell in notebook["cells"]]
    return sha256(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode())


def copy_of(original):
    """The copy of a notebook file, as a dict."""
    notebook = json.loads(original.read_bytes())
    siblings = {path.name for path in NOTEBOOKS.glob("*.ipynb")}
    notebook["metadata"][KEY] = {"original": original.name, "digest": digest(notebook)}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = relinked("".join(cell["source"]), siblings)
    header = {"cell_type": "markdown", "id": "copy", "metadata": {}, "source": HEADER.replace("NAME", original.stem)}
    notebook["cells"].insert(0, header)
    return notebook


CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)
LINK = re.compile(r"(\]\(\s*<?|^\[[^\]\n]+\]:\s*<?|\b(?:href|src)=[\"'])([^)\s>\"']+)", re.M)


def relinked(text, siblings):
    """Markdown of the folder notebooks with its links as the folder of copies needs
    them. Links to siblings, names of notebooks, lead to their copies."""

    def moved(match):
        target, mark, fragment = match[2].partition("#")
        if not target or re.match(r"[A-Za-z][\w+.-]*:|/", target) or posixpath.normpath(target) in siblings:
            return match[0]
        end = "/" if target.endswith("/") else ""
        return match[1] + posixpath.relpath(target, FOLDER.name) + end + mark + fragment

    parts = CODE.split(text)
    parts[::2] = (LINK.sub(moved, part) for part in parts[::2])
    return "".join(parts)


def text_of(original):
    """The text of the copy of a notebook file; None where the file is no notebook."""
    try:
        return json.dumps(copy_of(original), indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n"
    except UNREADABLE:
        return None


UNREADABLE = OSError, ValueError, KeyError, TypeError, AttributeError
DAMAGED = "its original cannot be read as a notebook"


def provide_workspace():
    """Lets the copies run what the originals run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_if_changed(FOLDER / WORKSPACE, f'. "$(dirname "$0")/../{WORKSPACE}"\n')


def make_missing(originals):
    """Makes the copies that are missing."""
    provide_workspace()
    made = []
    for original in originals:
        if os.path.lexists(path_of(original)):
            continue
        if text := text_of(original):
            write_atomic(path_of(original), text)
            made.append(original.stem)
    if made:
        log.info(f"copies made in {FOLDER.relative_to(ROOT)}: {', '.join(made)}")


def state(original):
    """The state of a notebook's copy, in words."""
    path = path_of(original)
    if not (text := text_of(original)):
        return DAMAGED
    if not os.path.lexists(path):
        return "no copy"
    try:
        copy = json.loads(path.read_bytes())
        own, made_from = digest(copy), copy["metadata"].get(KEY, {}).get("digest")
    except UNREADABLE:
        return "cannot be read as a notebook"
    fresh = json.loads(text)
    if made_from is None:
        return "is not a copy: a notebook of your own has its name"
    if made_from != fresh["metadata"][KEY]["digest"]:
        return OLDER
    return "as the original" if own == digest(fresh) else "edited"


OLDER = "its original has changed since the copy was made"


def warn(originals):
    """Names the originals that cannot be read, and the copies that are older than theirs."""
    for original in originals:
        if (found := state(original)) == DAMAGED:
            log.warning(f"{original.stem}: {DAMAGED}; the copy stays as it is")
        elif found == OLDER:
            log.warning(f"{original.stem}: {OLDER}; ./reproduce.sh reset {original.stem} replaces the copy and keeps the old one")


def reset(originals, named):
    """Replaces the copies of the notebooks that are named; without names makes the
    missing ones and lists all."""
    if not named:
        make_missing(originals)
        width = max(len(original.stem) for original in originals)
        for original in originals:
            print(f"{original.stem:<{width}}  {state(original)}")
        print("./reproduce.sh reset NAME … replaces copies by their originals")
        return
    provide_workspace()
    for original in originals:
        path, kept = path_of(original), None
        if not (text := text_of(original)):
            raise ReproduceError(f"{original.stem}: {DAMAGED}; its copy stays as it is")
        if os.path.lexists(path):
            fresh, kept = path.with_name(f".{path.name}.fresh"), free_name(original.stem)
            write_atomic(fresh, text)  # first what a full disk refuses
            kept.parent.mkdir(exist_ok=True)
            os.rename(path, kept)
            os.rename(fresh, path)
        else:
            write_atomic(path, text)
        print(f"{path.relative_to(ROOT)} is as its original" + (f"; the replaced one is {kept.relative_to(ROOT)}" if kept else ""))


def free_name(stem):
    """A name for a replaced copy that no file has."""
    now = datetime.datetime.now().strftime("%Y-%m-%d_%H.%M.%S")
    names = (f"{stem}_{now}{suffix}.ipynb" for suffix in ("", *(f"_{i}" for i in range(2, 1000))))
    return next(path for path in (FOLDER / "replaced" / name for name in names) if not os.path.lexists(path))
