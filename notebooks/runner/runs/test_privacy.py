"""Kernels are reached by their user alone."""

import json
import os
import signal
import socket
from pathlib import Path

from small import LIMIT, SLOW, WRITES, Small


class Privacy(Small):
    def test_other_users_reach_no_kernel(self):
        if os.geteuid() != 0:
            self.skipTest("only root can act as another user")
        self.notebook("01_slow", WRITES, SLOW)
        process = self.start()
        self.wait_for_slow_cell()
        folder = next(self.temporary.glob("cvgm-*"))
        connection = json.loads((folder / "kernel.json").read_text())
        ports = [connection[f"{name}_port"] for name in ("shell", "iopub", "stdin", "control", "hb")]
        if connection["transport"] == "ipc":
            reach = [(socket.AF_UNIX, f"{connection['ip']}-{port}") for port in ports]
        else:
            reach = [(socket.AF_INET, (connection["ip"], port)) for port in ports]

        def connect(kind, address):
            with socket.socket(kind) as s:
                s.connect(address)

        attempts = [lambda kind=kind, address=address: connect(kind, address) for kind, address in reach]
        attempts += [lambda path=path: path.read_bytes() for path in (folder / "kernel.json", folder / "kernel.log", folder / "record")]
        attempts.append(lambda: os.listdir(folder))
        attempts.append(lambda: (folder / "x").touch())
        (folder / "record").touch()
        self.assertEqual(self.as_user(0, attempts), [True] * len(attempts))
        self.assertEqual(self.as_user(65534, [lambda: os.listdir(self.temporary)]), [True], "the test leaves other users no way")
        self.assertEqual(self.as_user(65534, attempts), [False] * len(attempts))
        ours = {int(p.name) for p in Path("/proc").glob("[0-9]*") if self.owned(p)}
        self.assertGreaterEqual(len(ours), 2)  # the kernel and a cell
        self.assertEqual([p for p in ours if self.listens(p)], [], "a process of the kernel listens on TCP")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)

    def as_user(self, uid, attempts):
        """Which of the attempts succeed for that user."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if uid:
                    os.setgroups([])
                    os.setresgid(uid, uid, uid)
                    os.setresuid(uid, uid, uid)
                for attempt in attempts:
                    try:
                        attempt()
                        os.write(write, b"1")
                    except OSError:
                        os.write(write, b"0")
            finally:
                os._exit(0)
        os.close(write)
        with open(read, "rb") as f:
            done = f.read()
        os.waitpid(child, 0)
        return [digit == ord("1") for digit in done]
