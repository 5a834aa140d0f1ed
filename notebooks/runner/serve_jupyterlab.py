"""JupyterLab that leaves the checkout's own files alone; lab.py starts it."""

import contextlib
import json
import os
import sys
from pathlib import Path

import nbformat
from jupyter_server.serverapp import ServerApp, random_ports
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.netutil import bind_sockets
from tornado.web import HTTPError
from traitlets import Unicode

sys.path.append(str(Path(__file__).parent))

import layout  # noqa: E402
from environment import TOOLCHAIN  # noqa: E402

REFUSAL = "{} belongs to the project and is open for reading only. Work in its copy in notebooks/copies, or start ./reproduce.sh lab --edit."


# What the kernel answers when it is asked for its language. JupyterLab writes it into a
# notebook that has something else there, which is then unsaved as soon as it is opened.
LANGUAGE = layout.METADATA["language_info"] | {"codemirror_mode": "", "nbconvert_exporter": "", "pygments_lexer": "", "version": os.environ[TOOLCHAIN].split()[0]}


def outputs(notebook):
    """All outputs of a notebook's cells, as texts."""
    return {json.dumps(output, sort_keys=True) for cell in notebook["cells"] for output in cell.get("outputs", [])}


class Contents(AsyncLargeFileManager):
    """The files below the root folder, some of them for reading only."""

    listing = Unicode(help="file with the names, in JSON, of the files for reading only").tag(config=True)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.protected = frozenset(json.loads(Path(self.listing).read_bytes()))

    def mark_trusted_cells(self, nb, path=""):
        """Trusts what shows no other outputs than the project's own notebook of that
        name, so that a copy's pictures follow the theme before they are run."""
        own = f"notebooks/{Path(path).name}"
        if own in self.protected and outputs(nb) <= outputs(nbformat.read(Path(self.root_dir) / own, as_version=4)):
            self.notary.mark_cells(nb, True)
        else:
            super().mark_trusted_cells(nb, path)

    def name_of(self, path):
        """The name below the root folder of the file at path, also where path has dots or leads over a link."""
        return Path(os.path.relpath(os.path.realpath(self._get_os_path(path)), os.path.realpath(self.root_dir))).as_posix()

    def refuse(self, path):
        name = self.name_of(path)
        if any(p == name or p.startswith(f"{name}/") for p in self.protected):
            raise HTTPError(403, REFUSAL.format(name))

    async def get(self, path, *args, **kwargs):
        model = await super().get(path, *args, **kwargs)
        if self.name_of(model["path"]) in self.protected:
            model["writable"] = False
        if model["type"] == "notebook" and model["content"]:
            metadata = model["content"]["metadata"]
            if metadata.get("kernelspec", {}).get("name") == layout.KERNEL:
                metadata["language_info"] = LANGUAGE
        return model

    async def save(self, model, path=""):
        self.refuse(path)
        return await super().save(model, path)

    async def delete_file(self, path):
        self.refuse(path)
        return await super().delete_file(path)

    async def rename_file(self, old_path, new_path):
        self.refuse(old_path)
        self.refuse(new_path)
        return await super().rename_file(old_path, new_path)

    async def restore_checkpoint(self, checkpoint_id, path):
        self.refuse(path)
        return await super().restore_checkpoint(checkpoint_id, path)


class Server(ServerApp):
    """A server that holds its port from the moment it is chosen. Jupyter's own looks for a free one and
    takes it seconds later, when another program may have it."""

    held = ()

    def _find_http_port(self):
        for port in random_ports(self.port, self.port_retries + 1):
            with contextlib.suppress(OSError):
                self.held = bind_sockets(port, self.ip)
                self.port = port
                return
        super()._find_http_port()  # says why there is none

    def _bind_http_server_tcp(self):
        self.http_server.add_sockets(self.held)
        return bool(self.held) or super()._bind_http_server_tcp()


if __name__ == "__main__":
    from jupyterlab.labapp import LabApp

    LabApp.serverapp_class = Server
    LabApp.launch_instance([*sys.argv[1:], f"--ServerApp.contents_manager_class={Path(__file__).stem}.Contents"])
