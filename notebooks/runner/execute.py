"""Runs one notebook from its first cell to its last in a fresh GoNB kernel."""

import json
import os
import re

import nbclient
import nbformat
from traitlets.config import Config

from environment import KERNEL, KERNEL_CHATTER, temporary_folder

KERNELSPEC = {"display_name": "Go (gonb)", "language": "go", "name": KERNEL}
LANGUAGE = {"name": "go", "file_extension": ".go", "mimetype": "text/x-go"}
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Failed(Exception):
    """Why a notebook did not run to its end, in words for the user."""


class BadParameters(Failed):
    """What is wrong with the parameters of -p, and the valid ones."""


def cell_failed(number, cell, error, output=""):
    error, output = (ANSI.sub("", text).strip().splitlines() for text in (error, output))
    lines = [f"cell {number} failed; it begins", *indented(cell.source.splitlines()[:3])]
    lines += ["  its error", *indented(error[-20:])]
    if output:
        lines += ["  the last lines of its output", *indented(output[-10:])]
    return Failed("\n".join(lines))


def indented(lines):
    return ["    " + line for line in lines]


def run(path, out, env, progress, records):
    """Executes the notebook at path and returns it as the bytes to be stored.

    Its cells find the folder for their files in $CVGM_OUT, which is out. What
    they record of themselves is added to the list records, also where one fails.
    """
    notebook = read(path)
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()]
    with temporary_folder() as temporary, open(os.path.join(temporary, "kernel.log"), "w+") as log:
        record, done = os.path.join(temporary, "record"), os.path.join(temporary, "progress")
        own = {"TMPDIR": temporary, "CVGM_OUT": str(out), "CVGM_RECORD": record, "CVGM_PROGRESS": done}
        progress.experiment(done)
        try:
            execute(notebook, code, path.parent, env | own | {"GOPROXY": "off"}, log, progress.cell)
        except RuntimeError as e:  # also nbclient's DeadKernelError
            log.seek(0)
            words = [line.rstrip() for line in log if not KERNEL_CHATTER.match(line)]
            raise Failed("\n".join([str(e), *indented(words[-10:])])) from None
        finally:
            records += read_records(record)
    return normalised(notebook)


def read_records(path):
    """The lines of JSON at path; a cell that was stopped may have written half of one."""
    records = []
    try:
        with open(path) as f:
            for line in f:
                if line.endswith("\n"):
                    records.append(json.loads(line))
    except FileNotFoundError:
        pass
    return records


def execute(notebook, code, folder, env, log, on_cell):
    client = nbclient.NotebookClient(
        notebook,
        kernel_name=KERNEL,
        timeout=None,
        record_timing=False,
        coalesce_streams=True,
        config=Config({"KernelManager": {"connection_file": os.path.join(env["TMPDIR"], "kernel.json")}}),
    )
    with client.setup_kernel(env=env, cwd=str(folder), stdout=log, stderr=log):
        try:
            for count, index in enumerate(code, 1):
                on_cell(count, len(code))
                run_cell(client, notebook.cells[index], index, count)
        except BaseException:
            client.shutdown_kernel = "immediate"
            raise


def run_cell(client, cell, index, count):
    try:
        client.execute_cell(cell, index, execution_count=count)
    except nbclient.exceptions.CellExecutionError:
        traces = ["\n".join(o.traceback) for o in cell.outputs if o.output_type == "error"]
        refuse_parameters(streams(cell, "stderr"))
        raise cell_failed(index + 1, cell, streams(cell, "stderr") or "\n".join(traces), streams(cell, "stdout")) from None
    except nbclient.exceptions.DeadKernelError:
        raise RuntimeError(f"the kernel died in cell {index + 1}") from None
    # A failing !command, a failing %%bash and an unknown %magic are no errors
    # to GoNB: all that shows them is what they write here.
    words = streams(cell, "stderr")
    if words.strip():
        raise cell_failed(index + 1, cell, words, streams(cell, "stdout"))


def refuse_parameters(words):
    """Raises what notebooks.Params says of -p, of which the cell is not to blame."""
    lines = words.splitlines()
    if lines and lines[0].startswith("-p: "):
        raise BadParameters("\n".join(line for line in lines if line != "exit status 1").removeprefix("-p: "))


def streams(cell, name):
    return "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == name)


def read(path):
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as e:  # nbformat raises what its JSON reader and its checks raise
        raise Failed(f"cannot be read as a notebook: {e}") from None
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def normalised(notebook):
    """The notebook's bytes, free of all that varies from run to run or from editor to editor."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen = set()
    for i, cell in enumerate(notebook.cells, 1):
        cell.metadata.pop("execution", None)
        cell.metadata.pop("trusted", None)
        if not cell.get("id") or cell.id in seen:
            cell.id = f"cell-{i}"
        seen.add(cell.id)
        if cell.cell_type == "code":
            # Printed text and pictures come by different pipes, so which of
            # them is first varies.
            cell.outputs.sort(key=lambda output: output.output_type == "stream")
    return nbformat.writes(notebook).encode().rstrip(b"\n") + b"\n"
