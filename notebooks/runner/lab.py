"""Runs JupyterLab on the working copies of the notebooks."""

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import copies
import environment
import layout
import processes
from checkout import LAB_BIN, NOTEBOOKS, PYTHON, ROOT, RUNNER, ReproduceError, as_json, in_words, log
from experiments import JUDGES, experiments, tracked
from progress import Waiting

START = f"{JUDGES}.ipynb"


def require_free(port):
    """A ReproduceError where the port that was asked for, if one was, cannot be used."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError as e:
            raise ReproduceError(f"port {port} cannot be used: {e.strerror}") from None


def protected():
    """The files that JupyterLab must not change: those that git tracks, or without git
    all that are there, less the copies and what set-up made."""
    names = tracked()
    if names is None:
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = {str(name) for name in found if not name.parts[0].startswith(".") and name.parts[:2] != ("notebooks", "copies")}
    return sorted(name for name in names if name and name.isprintable())


def run(port, edit, env):
    """Runs JupyterLab on the loopback interface until it is stopped; its exit status.
    Port 0 is 8888, or where that is taken one beside it."""
    folder = NOTEBOOKS if edit else copies.FOLDER
    if not edit:
        originals = experiments()
        copies.make_missing(originals)
        copies.warn(originals)
    require_free(port)
    token = secrets.token_urlsafe(24)
    with processes.temporary_folder() as temporary:
        listing = os.path.join(temporary, "protected.json")
        with open(listing, "w") as f:
            f.write(as_json([] if edit else protected()))
        argv = [
            *(str(PYTHON), "-I", str(RUNNER / "serve_jupyterlab.py")),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port or 8888}",
            f"--ServerApp.port_retries={0 if port else 50}",
            f"--ServerApp.root_dir={ROOT}",
            "--ServerApp.open_browser=False",
            "--ServerApp.answer_yes=True",
            # No pings: they detect a peer that is gone, which shows at once on the loopback interface. With pings
            # Jupyter's server needs a timeout above their interval, or it closes each connection after the first
            # interval; and of such a timeout Tornado warns for each connection.
            "--ServerApp.tornado_settings={'ws_ping_interval': 0}",
            f"--Contents.listing={listing}",
            f"--KernelSpecManager.allowed_kernelspecs={layout.KERNEL}",
            "--KernelSpecManager.ensure_native_kernel=False",
            "--KernelManager.transport=ipc",
            f"--MultiKernelManager.default_kernel_name={layout.KERNEL}",
            "--Application.log_level=WARN",
        ]
        if os.geteuid() == 0:
            argv.append("--allow-root")
        path = f"{LAB_BIN}:{env['PATH']}"
        env = env | {"JUPYTER_TOKEN": token, "TMPDIR": temporary, "JUPYTER_RUNTIME_DIR": temporary, "PATH": path}
        # In a session of its own: Ctrl-C reaches this process alone, which ends the server.
        server = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True)
        ending = threading.Event()
        try:
            threading.Thread(target=pass_on, args=(server.stderr, ending), daemon=True).start()
            with Waiting("starting JupyterLab", quiet=True):
                port = answering(server, Path(temporary), token)
            if port:
                start = folder / START if (folder / START).exists() else folder
                log.info(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/{start.relative_to(ROOT)}?token={token}")
                log.info(f"it opens {'the originals' if edit else 'working copies'} in {folder.relative_to(ROOT)}; Ctrl-C ends it")
                if environment.gopls_wanted(env):
                    log.info("completion of code comes later: gopls, which completes, is being built, about a minute where Go's caches are empty")
                    threading.Thread(target=complete, args=(env, ending), daemon=True).start()
            server.wait()
        except KeyboardInterrupt:
            ending.set()
            server.terminate()
            raise
        finally:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
    return server.wait()


def complete(env, ending):
    """Builds gopls while JupyterLab runs. Without it only completion is missing."""
    try:
        environment.build_gopls(env)
    except (ReproduceError, OSError) as e:
        if not ending.is_set():
            log.warning(f"no completion of code in JupyterLab: {in_words(e)}; the next ./reproduce.sh lab tries again")
        return
    if not ending.is_set():
        log.info("gopls is built: restart a kernel (Kernel, Restart Kernel) for completion of code")


# The line before a message of GoNB that has lines of its own.
MESSAGE = re.compile(r"E\d{4} .*goexec\.go:\d+\] \S*\[\w+\]\S*\s*$")


def without_advice(lines):
    """The lines, without the message in which GoNB misses gopls and advises to install it from
    the network: lab builds it, and has said so."""
    head, fences = "", 0  # a line kept back; the ends of code that are still to come
    for line in lines:
        if fences:
            fences -= line.strip() == "```"
        elif head and line.startswith("Program gopls is not installed."):
            head, fences = "", 2
        else:
            if head:
                yield head
            head = line if MESSAGE.match(line) else ""
            if not head:
                yield line
    if head:
        yield head


def pass_on(stream, ending):
    """Shows what JupyterLab and its kernels print, until it ends."""
    for line in without_advice(stream):
        if not ending.is_set() and not processes.KERNEL_CHATTER.match(line):
            sys.stderr.write(line)


def answering(server, runtime, token):
    """The port on which the server, which keeps its files in the folder runtime, answers
    by now; None if it ends before. The server itself chooses the port, and holds it from then on."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while server.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            port = json.loads((runtime / f"jpserver-{server.pid}.json").read_bytes())["port"]
            request = urllib.request.Request(f"http://127.0.0.1:{port}/api/status", headers={"Authorization": f"token {token}"})
            with opener.open(request, timeout=5):
                return port
        time.sleep(0.1)
    return None
