"""The notebooks in a JupyterLab and a GoNB that a person has installed."""

import json
import os
import shutil
import subprocess
import tempfile

from checkout import PYTHON
from explore import Explore
from harness import CHECKOUT, COMMAND, PATIENCE, ROOT, Lab, Test, until


class OwnGoNB(Test):
    pings = True  # Jupyter's own default, of which Jupyter's server itself warns

    @classmethod
    def start_lab(cls):
        subprocess.run([CHECKOUT / "reproduce.sh", "reset"], check=True, capture_output=True, timeout=COMMAND)
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        go = os.path.dirname(shutil.which("go"))
        env = {
            "HOME": folder.name,
            "PATH": f"{ROOT}/.cache/bin:{ROOT}/.cache/bin-lab:{go}:/usr/bin:/bin",
            "JUPYTER_DATA_DIR": f"{folder.name}/data",
            "JUPYTER_CONFIG_DIR": f"{folder.name}/config",
            "JUPYTER_PREFER_ENV_PATH": "0",  # or the kernel of .venv comes first
            "TMPDIR": folder.name,
            "GOPROXY": "off",
            **json.loads(subprocess.check_output(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], text=True, timeout=PATIENCE)),
        }
        subprocess.run([ROOT / ".cache/bin/gonb", "--install"], env=env, check=True, capture_output=True, timeout=COMMAND)
        options = ["--ip=127.0.0.1", "--no-browser", *(["--allow-root"] if os.geteuid() == 0 else [])]
        own = Lab([PYTHON, "-I", "-m", "jupyterlab", *options], env)
        cls.addClassCleanup(own.close)
        return own

    def test_notebook(self):
        tab = self.open("02_rings")
        tab.run_all()
        prompts = tab.code_cells.locator(".jp-InputPrompt")
        until(lambda: any("*" in text for text in prompts.all_inner_texts()), "a cell runs")
        tab.idle(COMMAND)
        boundary, manifold = tab.code_cell("Rings.Boundary"), tab.code_cell("Rings.Manifold")
        boundary.scroll_into_view_if_needed()  # JupyterLab shows only what is in view
        until(lambda: "Rings: the training examples" in tab.output(boundary), "the picture has its caption")
        manifold.scroll_into_view_if_needed()
        figure = manifold.locator(".jp-RenderedImage img")
        self.assertGreater(figure.evaluate("e => e.naturalWidth"), 500)
        committed = {p.name: p.read_bytes() for p in (CHECKOUT / "figures/out/02_rings").glob("*.csv")}
        runs = CHECKOUT / "runs/02_rings/interactive/default"
        self.assertEqual({p.name: p.read_bytes() for p in runs.glob("*.csv")}, committed)
        self.assertEqual(tab.page.locator(".jp-OutputArea-output[data-mime-type*=error], .jp-OutputArea-output[data-mime-type*=stderr]").all_inner_texts(), [])

    def test_explore(self):
        p = self.open("explore", Explore)
        p.start()
        p.fresh()
        p.step(3)
        p.choose(2)
        p.until_readout("λ1")
