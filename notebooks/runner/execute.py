"""Runs one notebook from its first cell to its last in a fresh GoNB kernel."""

import asyncio
import itertools
import json
import os
import re
import resource
import sys
from pathlib import Path

# Where JupyterLab is installed, jsonschema imports this and so builds a grammar,
# which takes two seconds, for a format that notebooks have nowhere.
sys.modules["rfc3987_syntax"] = None

import nbclient
import nbformat
from jupyter_core.utils import ensure_event_loop
from traitlets.config import Config

import layout
from checkout import ReproduceError
from layout import KERNEL
from processes import KERNEL_CHATTER, free_memory

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class NotebookError(ReproduceError):
    """A notebook did not run to its end."""


class ParameterError(NotebookError):
    """A parameter of -p is not accepted."""


class ParameterHelp(NotebookError):
    """The list of the valid parameters, which -p help asks for."""


def cell_error(number, cell, error, output=""):
    error, output = (ANSI.sub("", text).strip().splitlines() for text in (error, output))
    error = without_status(error)
    lines = [f"cell {number} failed; it begins", *indented(cell.source.splitlines()[:3])]
    lines += ["  its error", *indented(error[-20:])]
    if output:
        lines += ["  the last lines of its output", *indented(output[-10:])]
    return NotebookError("\n".join(lines))


def indented(lines):
    return ["    " + line for line in lines]


def run(path, temporary, staging, env, progress, records):
    """Executes the notebook at path and returns it as the bytes to be stored.

    Its kernel keeps what it needs in the folder temporary, which is private. Its
    cells find the folder for their files in $CVGM_OUT, which is that of staging.
    What they record of themselves is added to the list records, also where one
    fails.
    """
    notebook = read(path)
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()]
    record, done = Path(temporary, "record"), Path(temporary, "progress")
    own = {"TMPDIR": temporary, "CVGM_OUT": str(staging.path), "CVGM_RECORD": str(record), "CVGM_PROGRESS": str(done), "CVGM_NOTEBOOK": path.stem}
    progress.experiment(done, record)
    limit_memory()
    with open(os.path.join(temporary, "kernel.log"), "w+") as log:
        try:
            execute(notebook, code, path.parent, env | own | {"GOPROXY": "off"}, log, progress.cell, staging.check)
        except RuntimeError as e:  # also nbclient's DeadKernelError
            staging.check()  # the kernel lives in the same folder
            log.seek(0)
            lines = [line.rstrip() for line in log if not KERNEL_CHATTER.match(line)]
            raise NotebookError("\n".join([str(e), *indented(lines[-10:])])) from None
        except (NotebookError, OSError):
            staging.check()
            raise
        finally:
            records += read_records(record)
    return layout.plain(notebook)


def limit_memory():
    """Lets no process of the cells take more memory than is free.

    An allocation beyond that then fails in the process that asks for it, where the
    system would end some process or other later on.
    """
    free, (_, most) = free_memory(), resource.getrlimit(resource.RLIMIT_DATA)
    if free is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (min(free, most) if most != resource.RLIM_INFINITY else free, most))


def read_records(path):
    """The lines of JSON at path; a cell that was stopped may have written half of one."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def execute(notebook, code, folder, env, log, before_cell, after_cell):
    client = nbclient.NotebookClient(
        notebook,
        kernel_name=KERNEL,
        timeout=None,
        record_timing=False,
        coalesce_streams=True,
        # Sockets in a private folder, since whoever reaches a kernel's TCP ports
        # can read what it prints.
        config=Config({"KernelManager": {"transport": "ipc", "connection_file": os.path.join(env["TMPDIR"], "kernel.json")}}),
    )
    with client.setup_kernel(env=env, cwd=str(folder), stdout=log, stderr=log):
        try:
            for count, index in enumerate(code, 1):
                before_cell(count, len(code))
                run_cell(client, notebook.cells[index], index, count)
                after_cell()
        except BaseException:
            expect_failures(ensure_event_loop())
            client.shutdown_kernel = "immediate"
            raise


def expect_failures(loop):
    """Lets the unfinished tasks of loop fail in silence: an interrupted cell does so while its kernel ends, and
    asyncio would write a traceback of an error that nobody has asked for."""
    for task in asyncio.all_tasks(loop):
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def run_cell(client, cell, index, count):
    try:
        client.execute_cell(cell, index, execution_count=count)
    except nbclient.exceptions.CellExecutionError:
        traces = ["\n".join(o.traceback) for o in cell.outputs if o.output_type == "error"]
        refuse_parameters(streams(cell, "stderr"))
        refuse_memory(index + 1, "\n".join([streams(cell, "stderr"), *traces]))
        raise cell_error(index + 1, cell, streams(cell, "stderr") or "\n".join(traces), streams(cell, "stdout")) from None
    except nbclient.exceptions.DeadKernelError:
        raise RuntimeError(f"the kernel died in cell {index + 1}") from None
    # A failing !command, a failing %%bash and an unknown %magic are no errors
    # to GoNB: all that shows them is what they write here.
    errors = streams(cell, "stderr")
    if errors.strip():
        raise cell_error(index + 1, cell, errors, streams(cell, "stdout"))


def refuse_parameters(errors):
    """Raises the error of package notebook about parameters, for which the cell is not to
    blame: of -p, or that they were edited."""
    lines = without_status(errors.splitlines())
    if lines and lines[0].startswith("edited: "):
        raise NotebookError("; ".join(lines).removeprefix("edited: "))
    if lines and lines[0].startswith("-p: "):
        lines[0] = lines[0].removeprefix("-p: ")
        problems = list(itertools.takewhile(lambda line: not line.startswith(VALID), lines))
        raise ParameterError("; ".join(problems)) if problems else ParameterHelp("\n".join(lines))


VALID = "the parameters, with default"  # begins the list of the valid ones


def without_status(lines):
    """The lines without those by which GoNB reports a program's exit status, unless
    that is all there is."""
    other = [line for line in lines if not re.fullmatch(r"exit status \d+|\s*", line)]
    return other or [line for line in dict.fromkeys(lines) if line.strip()]


def refuse_memory(number, errors):
    """Raises in one line that the memory did not suffice, for which Go prints pages."""
    if OUT_OF_MEMORY.search(errors):
        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        free = "what is free here" if limit == resource.RLIM_INFINITY else f"the {limit / 1e9:.1f} GB that are free here"
        raise NotebookError(f"cell {number} ran out of memory: it wanted more than {free}; set smaller parameters or run it on a larger machine")


OUT_OF_MEMORY = re.compile(r"^(fatal error|runtime): .*(out of memory|cannot allocate memory)|^signal: killed", re.M)


def streams(cell, name):
    return "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == name)


def read(path):
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as e:  # nbformat raises what its JSON reader and its checks raise
        raise NotebookError(f"cannot be read as a notebook: {e}") from None
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook
