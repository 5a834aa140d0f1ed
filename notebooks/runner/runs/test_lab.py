"""./reproduce.sh lab."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from small import LIMIT, ROOT, WRITES, Small, link, require_lab


class Lab(Small):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        require_lab()
        venv, other = cls.checkout / ".venv", Path(cls.folder.name, "venv")  # every run hashes it, so other tests have a small one
        os.rename(venv, other)
        cls.addClassCleanup(os.rename, other, venv)
        cls.addClassCleanup(shutil.rmtree, venv)
        for name in (".venv", ".cache/bin-lab"):
            shutil.copytree(ROOT / name, cls.checkout / name, symlinks=True, copy_function=link)

    def setUp(self):
        super().setUp()
        self.notebook("01_first", WRITES)

    def open(self, *args):
        """Starts JupyterLab; where it opens, and what it printed before."""
        self.process = process = self.start("lab", *args)
        before = ""
        for line in process.stdout:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab/tree/(\S*)\?token=(\S+)", line):
                self.url, where, self.token = found.groups()
                return where, before
            before += line
        self.fail(before)

    def tearDown(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=LIMIT)
        super().tearDown()

    def ask(self, method, path, data=None):
        data = data and json.dumps(data).encode()
        request = urllib.request.Request(f"{self.url}/api/{path}", data, {"Authorization": f"token {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.loads(answer.read() or "null")

    def refused(self, method, path, data=None):
        with self.assertRaises(urllib.error.HTTPError) as refusal:
            self.ask(method, path, data)
        self.assertEqual(refusal.exception.code, 403)
        return json.loads(refusal.exception.read())["message"]

    def files(self):
        """The files of the checkout, less those in folders with a dot."""
        found = {p.relative_to(self.checkout): p for p in self.checkout.rglob("*") if p.is_file()}
        return {name: p.read_bytes() for name, p in found.items() if not any(part.startswith(".") for part in name.parts)}

    def test_it_answers_once_its_address_is_printed_and_is_private(self):
        self.open()
        kernel = self.ask("POST", "kernels", {"name": "gonb"})["id"]  # answers at once
        folder = next(self.temporary.glob("cvgm-*"))
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        connection = json.loads((folder / f"kernel-{kernel}.json").read_text())
        self.assertEqual(connection["transport"], "ipc")
        sockets = [f"{connection['ip']}-{connection[f'{name}_port']}" for name in ("shell", "iopub", "stdin", "control", "hb")]
        self.assertTrue(self.wait_for(lambda: all(map(os.path.exists, sockets))))
        self.assertEqual({os.path.dirname(s) for s in sockets}, {str(folder)})
        self.assertLessEqual(max(map(len, sockets)), 107)
        # JupyterLab's own port asks for the token.
        kernels = [p for p in Path("/proc").glob("[0-9]*") if self.owned(p) and b"serve_jupyterlab" not in self.command_line(p)]
        self.assertIn(b"gonb", b"".join(map(self.command_line, kernels)))
        self.assertEqual([self.command_line(p) for p in kernels if self.listens(p.name)], [])

    def test_two_at_once_answer_at_addresses_of_their_own(self):
        both = [self.start("lab"), self.start("lab")]
        self.process = both[0]
        addresses = set()
        for process in both:
            said = ""
            for line in process.stdout:
                said += line
                if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab/tree/\S*\?token=(\S+)", line):
                    self.url, self.token = found.groups()
                    self.ask("GET", "status")
                    addresses.add(self.url)
                    break
            else:
                self.fail(said)
        both[1].send_signal(signal.SIGINT)
        both[1].communicate(timeout=LIMIT)
        self.assertEqual(len(addresses), 2)

    def test_it_holds_its_port_from_its_choice_on(self):
        script = """
import sys
sys.path.append(sys.argv[1])
import serve_jupyterlab
server = serve_jupyterlab.Server(ip="127.0.0.1", port_retries=50)
server._find_http_port()
print(server.port, flush=True)
sys.stdin.read()
"""
        argv = [self.checkout / ".venv/bin/python", "-I", "-c", script, self.checkout / "notebooks/runner"]
        self.process = subprocess.Popen(argv, env=os.environ | {"CVGM_TOOLCHAIN": "go1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = int(self.process.stdout.readline())
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.assertRaises(OSError, other.bind, ("127.0.0.1", port))
        self.process.communicate()

    def test_it_opens_copies_and_changes_nothing_else(self):
        self.notebook("00_start", WRITES)
        where, said = self.open()
        (self.checkout / "notebooks/copies/link.ipynb").symlink_to("../01_first.ipynb")
        self.assertEqual(where, "notebooks/copies/00_start.ipynb")
        self.assertEqual(said, "copies made in notebooks/copies: 00_start, 01_first\n")
        before = self.files()
        original = self.ask("GET", "contents/notebooks/01_first.ipynb")
        self.assertFalse(original["writable"])
        model = {"type": "notebook", "format": "json", "content": original["content"]}
        for method, path, data in (
            ("PUT", "notebooks/01_first.ipynb", model),
            *(("PUT", f"notebooks/{name}.ipynb", model) for name in ("./01_first", "copies/../01_first", "copies/link")),
            ("PUT", "go.mod", {"type": "file", "format": "text", "content": ""}),
            ("DELETE", "notebooks/01_first.ipynb", None),
            ("DELETE", "cvgm", None),
            ("PATCH", "go.mod", {"path": "go.sum2"}),
            ("PATCH", "figures", {"path": "pictures"}),
        ):
            self.assertIn("notebooks/copies", self.refused(method, f"contents/{path}", data), path)
        self.assertEqual(self.files(), before)
        copy = self.ask("GET", "contents/notebooks/copies/01_first.ipynb")
        self.assertTrue(copy["writable"])
        model["content"] = copy["content"]
        model["content"]["cells"].pop()
        for path in ("notebooks/copies/01_first.ipynb", "notebooks/Untitled.ipynb", "notebooks/mine.ipynb"):
            self.ask("PUT", f"contents/{path}", model)
            self.ask("PUT", f"contents/{path}", model)
        self.ask("PATCH", "contents/notebooks/mine.ipynb", {"path": "notebooks/copies/mine.ipynb"})
        self.ask("DELETE", "contents/notebooks/Untitled.ipynb")
        changed = {str(name) for name, data in self.files().items() if before.get(name) != data}
        self.assertEqual(changed, {"notebooks/copies/01_first.ipynb", "notebooks/copies/mine.ipynb"})
        self.assertIn("01_first  edited", self.reproduce("reset"))

    def test_authors_edit_the_originals(self):
        where, _ = self.open("--edit")
        self.assertEqual(where, "notebooks")
        original = self.ask("GET", "contents/notebooks/01_first.ipynb")
        self.assertTrue(original["writable"])
        original["content"]["cells"].pop()
        self.ask("PUT", "contents/notebooks/01_first.ipynb", {"type": "notebook", "format": "json", "content": original["content"]})
        self.assertNotIn("loss", (self.checkout / "notebooks/01_first.ipynb").read_text())
        self.assertFalse((self.checkout / "notebooks/copies").exists())
