"""Runs JupyterLab on the working copies of the notebooks."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import copies
import layout
import processes
from checkout import LAB_BIN, NOTEBOOKS, PYTHON, ROOT, RUNNER, ReproduceError, as_json, log
from experiments import experiments, tracked
from progress import Waiting

START = "00_start.ipynb"


def free_port(port):
    """port, or one that is free where none is asked for."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port or 8888))
        except OSError as e:
            if port:
                raise ReproduceError(f"port {port} cannot be used: {e.strerror}") from None
            s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def protected():
    """The files that JupyterLab must not change: those that git tracks, or without git
    all that are there, less the copies and what set-up made."""
    names = tracked()
    if names is None:
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        names = {str(name) for name in found if not name.parts[0].startswith(".") and name.parts[:2] != ("notebooks", "copies")}
    return sorted(name for name in names if name and name.isprintable())


def run(port, edit, env):
    """Runs JupyterLab on the loopback interface until it is stopped; its exit status."""
    folder = NOTEBOOKS if edit else copies.FOLDER
    if not edit:
        originals = experiments()
        copies.make_missing(originals)
        copies.warn(originals)
    port, token = free_port(port), secrets.token_urlsafe(24)
    with processes.temporary_folder() as temporary:
        listing = os.path.join(temporary, "protected.json")
        with open(listing, "w") as f:
            f.write(as_json([] if edit else protected()))
        argv = [
            *(str(PYTHON), "-I", str(RUNNER / "serve_jupyterlab.py")),
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={ROOT}",
            "--ServerApp.open_browser=False",
            "--ServerApp.answer_yes=True",
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
        server = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
        try:
            ending = threading.Event()
            threading.Thread(target=pass_on, args=(server.stderr, ending), daemon=True).start()
            with Waiting("starting JupyterLab", quiet=True):
                answered = answers(server, port, token)
            if answered:
                start = folder / START if (folder / START).exists() else folder
                log.info(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/{start.relative_to(ROOT)}?token={token}")
                log.info(f"it opens {'the originals' if edit else 'working copies'} in {folder.relative_to(ROOT)}; Ctrl-C ends it")
            server.wait()
        except KeyboardInterrupt:
            ending.set()
            server.terminate()
        finally:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
    return server.wait()


def pass_on(stream, ending):
    """Shows what JupyterLab prints, less the log of GoNB and, once it ends, the last
    words of its kernels."""
    for line in stream:
        if not ending.is_set() and not processes.KERNEL_CHATTER.match(line):
            sys.stderr.write(line)


def answers(server, port, token):
    """Waits until the server answers; False if it ends before."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/status", headers={"Authorization": f"token {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while server.poll() is None:
        with contextlib.suppress(OSError), opener.open(request, timeout=5):
            return True
        time.sleep(0.1)
    return False
