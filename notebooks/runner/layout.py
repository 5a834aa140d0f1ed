"""The plain form of a notebook file: the bytes that every run of the same cells writes."""

import json

from checkout import sha256

# The kernel that GoNB is installed as.
KERNEL = "gonb"
METADATA = {
    "kernelspec": {"display_name": "Go (gonb)", "language": "go", "name": KERNEL},
    "language_info": {"name": "go", "file_extension": ".go", "mimetype": "text/x-go"},
}


def plain(notebook):
    """The bytes of a notebook, a dict, without all that varies from run to run or from
    editor to editor."""
    seen = set()
    for i, cell in enumerate(notebook["cells"], 1):
        for name in ("execution", "trusted"):
            cell["metadata"].pop(name, None)
        if not cell.get("id") or cell["id"] in seen:
            cell["id"] = f"cell-{i}"
        seen.add(cell["id"])
        cell["source"] = split(cell["source"])
        # Printed text and pictures come by different pipes, so which of them is
        # first varies.
        if cell["cell_type"] == "code":
            cell["outputs"].sort(key=lambda output: output["output_type"] == "stream")
            for output in cell["outputs"]:
                split_output(output)
    content = {"cells": notebook["cells"], "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def split_output(output):
    if output["output_type"] == "stream":
        output["text"] = split(output["text"])
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") or kind in ("application/javascript", "image/svg+xml"):  # as Jupyter does
            output["data"][kind] = split(value)


def split(text):
    """The lines of a text, which may already be split."""
    return text.splitlines(keepends=True) if isinstance(text, str) else text


def cells_digest(notebook):
    """A digest of a notebook's code cells and their outputs; notebooks/stale computes it, too."""
    cells = [c for c in json.loads(notebook)["cells"] if c["cell_type"] == "code"]
    parts = [["".join(c["source"]), c.get("execution_count"), c.get("outputs")] for c in cells]
    return sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())
