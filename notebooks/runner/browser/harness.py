"""A checkout, JupyterLab and Chromium for tests that do what users do.

The checkout is a copy of this one, so that tests may spoil it, and lies always at
the same place, so that Go finds what it compiled before. It takes over what is set
up here and the stored results. Its files are committed, so that a test sees which
tracked files it has changed.
"""

import atexit
import contextlib
import faulthandler
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checkout import ROOT  # noqa: E402
from environment import ask_go, build_gopls, gopls_wanted, prepare  # noqa: E402
from extras import install  # noqa: E402
from processes import locked  # noqa: E402

DRIVER = ROOT / ".cache" / "browser"
SCREENSHOTS = ROOT / ".work" / "screenshots"
CHECKOUT = ROOT / ".work" / "browser" / "checkout"
FOLDER = CHECKOUT / "notebooks" / "copies"  # what lab opens
PATIENCE = 60  # s for a single wait; the first cell of a cold checkout compiles
COMMAND = 600  # s for a command, such as ./reproduce.sh
LIMIT = 900  # s for a test as a whole
# What GoNB's own script in the page reports of a connection that the next one replaces: it gives the kernel
# half a second to answer. The kernel sends the script again if the page does not answer in that time, and the
# new one closes a connection that the old one is still making.
CONNECTS_AGAIN = {"comm_open_ack not received in time", "connection closed"}


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def install_driver():
    """Playwright in a folder of its own."""
    install(DRIVER, "requirements-browser.txt")
    sys.path.insert(0, str(DRIVER))


def git(*argv):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(["git", *identity, *argv], cwd=CHECKOUT, check=True, capture_output=True, text=True, timeout=COMMAND).stdout


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def make_checkout():
    """CHECKOUT anew, from the files here that git has or would take."""
    with locked():
        env = prepare(True, *ask_go())
        if gopls_wanted(env):
            build_gopls(env)
        copy_checkout()
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "as it was")


def copy_checkout():
    shutil.rmtree(CHECKOUT, ignore_errors=True)
    CHECKOUT.mkdir(parents=True)
    names = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=COMMAND).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (CHECKOUT / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, CHECKOUT / name)
    for name in (".venv", ".cache/bin", ".cache/bin-lab", ".work/store"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, CHECKOUT / name, symlinks=True, copy_function=link)


def changed_files():
    """The tracked files that differ from what was committed."""
    return git("status", "--porcelain", "--untracked-files=no").splitlines()


class Lab:
    """A JupyterLab in CHECKOUT until close: that of ./reproduce.sh, or another."""

    def __init__(self, argv=(CHECKOUT / "reproduce.sh", "lab"), env=None):
        self.said = []
        self.process = subprocess.Popen(argv, cwd=CHECKOUT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        atexit.register(self.close)
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()
        until(lambda: self.address() or self.process.poll() is not None, "JupyterLab prints its address", COMMAND)
        if not self.address():
            raise RuntimeError("no JupyterLab:\n" + "".join(self.said))
        self.url, self.opens, self.token = self.address().groups()
        until(lambda: self.api("GET", "status"), "JupyterLab answers")
        # It would save every two minutes, in a slow test behind its back, and after a test what the next one begins from.
        self.settings("PUT", "@jupyterlab/docmanager-extension:plugin", {"raw": '{"autosave": false}'})

    def address(self):
        return re.search(r"(http://127\.0\.0\.1:\d+)/lab(?:/tree/(\S+))?\?token=(\S+)\n", "".join(self.said))

    def settings(self, method, name, value=None):
        return self.api(method, f"settings/{name}", value, "lab/api")

    def api(self, method, path, value=None, root="api"):
        data = json.dumps(value).encode() if value is not None else None
        request = urllib.request.Request(f"{self.url}/{root}/{path}", data, {"Authorization": f"token {self.token}"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def shut_down_kernels(self):
        for session in self.api("GET", "sessions"):
            self.api("DELETE", f"sessions/{session['id']}")

    def close(self):
        atexit.unregister(self.close)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def until(condition, what, seconds=PATIENCE):
    """Waits until the condition holds, and returns its value. An OSError counts as no."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if value := condition():
                return value
        time.sleep(0.1)
    raise AssertionError(f"not after {seconds} s: {what}")


def processes(pattern):
    """The ids of processes whose executable matches, of kernels of CHECKOUT."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if re.search(pattern, os.readlink(entry / "exe")) and str(CHECKOUT) in (entry / "environ").read_text(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


def kernels():
    return processes(r"/bin/gonb$")


def cells():
    """Processes that run a cell."""
    return processes(r"/gonb_\w+/gonb_\w+( \(deleted\))?$")


class Tab:
    """A notebook, opened in JupyterLab in a tab of the browser."""

    def __init__(self, lab, context, path, reset=True):
        self.lab, self.errors = lab, []
        self.page = context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("pageerror", self.note)
        self.page.on("dialog", lambda dialog: dialog.accept())  # to leave unsaved changes
        self.path = path
        self.page.goto(f"{lab.url}/lab/tree/{path}?token={lab.token}{'&reset' if reset else ''}")
        self.loaded()

    def reload(self):
        self.page.reload()
        self.loaded()

    def loaded(self):
        """Waits until the notebook is shown and has a kernel."""
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.locator(".jp-Notebook-ExecutionIndicator:not([data-status=''])").first.wait_for(state="attached")
        until(lambda: any(s["kernel"]["connections"] for s in self.lab.api("GET", "sessions") if s["path"] == self.path), "a kernel")

    def note(self, error):
        if error.message not in CONNECTS_AGAIN:
            self.errors.append(str(error))

    def menu(self, *items):
        """Chooses an item of the menus."""
        first, *rest = items
        exactly = lambda text: re.compile(f"^{re.escape(text)}$")  # noqa: E731
        self.page.locator(".lm-MenuBar-itemLabel", has_text=exactly(first)).click()
        for item in rest:
            self.page.locator(".lm-Menu-itemLabel", has_text=exactly(item)).last.click()

    def dialog(self, button):
        self.page.locator(".jp-Dialog button", has_text=button).last.click()

    def save(self):
        self.menu("File", "Save Notebook")
        self.page.wait_for_selector(".lm-TabBar-tab.lm-mod-current.jp-mod-dirty", state="detached")

    def run_all(self):
        self.menu("Run", "Run All Cells")

    @property
    def code_cells(self):
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell")

    def last_cell(self):
        """The last code cell."""
        return self.code_cells.nth(self.code_cells.count() - 1)

    def code_cell(self, words):
        """The first code cell that holds these words now, or shows them where it is folded."""
        find = "(all, words) => all.findIndex(e => e.querySelector('.cm-content, .jp-InputPlaceholder')?.textContent.includes(words))"
        i = until(lambda: self.code_cells.evaluate_all(find, words) + 1, f"a cell holds {words!r}")
        return self.code_cells.nth(i - 1)

    def run(self, cell, wait=True):
        """Runs a cell as Ctrl-Enter does."""
        prompt = cell.locator(".jp-InputPrompt").first
        prompt.evaluate("e => { e.textContent = ''; }")  # its number may be the one that it will have
        if cell.locator(".jp-InputPlaceholder").count():  # its source is folded
            cell.locator(".jp-InputPlaceholder").click()
        cell.locator(".cm-content").first.click()
        self.page.keyboard.press("Control+Enter")
        if wait:
            until(lambda: re.search(r"\d", prompt.inner_text()), "the cell has run")
            return self.output(cell)

    def idle(self, seconds=PATIENCE):
        """Waits until no cell runs or waits to run."""
        prompts = self.code_cells.locator(".jp-InputPrompt")
        until(lambda: not any("*" in text for text in prompts.all_inner_texts()), "all cells have run", seconds)

    def output(self, cell):
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def source(self, cell):
        return cell.locator(".cm-content").first.evaluate("e => e.cmTile?.view?.state.doc.toString() ?? e.cmView.view.state.doc.toString()")

    def edit(self, cell, old, new):
        """Replaces text in a cell."""
        source = self.source(cell)
        assert old in source, f"{old!r} is not in\n{source}"
        self.write(cell, source.replace(old, new, 1))

    def place(self, cell, words):
        """Places the cursor behind the first of these words in a cell."""
        at = self.source(cell).index(words) + len(words)
        content = cell.locator(".cm-content").first
        content.click()
        content.evaluate("(e, at) => (e.cmTile ?? e.cmView).view.dispatch({selection: {anchor: at}})", at)

    def write(self, cell, text):
        cell.locator(".cm-content").first.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def shot(self, name):
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")


class Browser:
    """One Chromium at a time, and another after a crash."""

    def __init__(self):
        install_driver()
        from playwright.sync_api import sync_playwright

        self.driver = sync_playwright().start()
        self.start()

    def start(self):
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.chromium = self.driver.chromium.launch(executable_path=chromium(), args=arguments)
        self.context = self.new_context()
        found = self.chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        self.process = next(p["id"] for p in found if p["type"] == "browser")

    def new_context(self, width=1280, height=800, **options):
        return self.chromium.new_context(viewport={"width": width, "height": height}, **options)

    def require(self):
        """Starts another Chromium where the last was ended."""
        if not self.chromium.is_connected():
            self.start()

    def crash(self):
        """Ends the browser as a crash does, and starts another."""
        from playwright.sync_api import Error

        with contextlib.suppress(Error):
            self.chromium.new_browser_cdp_session().send("Browser.crash")
        self.start()

    def close(self):
        self.chromium.close()
        self.driver.stop()


class Watchdog:
    """Bounds the time of each test, whatever waits for whatever: Chromium is ended, so that
    what waits for it fails, and if that does not help, this process."""

    def __init__(self):
        self.timer = None

    def arm(self, last=False):
        if self.timer:
            self.timer.cancel()
        self.timer = threading.Timer(PATIENCE if last else LIMIT, self.expire, [last])
        self.timer.daemon = True
        self.timer.start()

    def expire(self, last):
        print(f"a test has taken {LIMIT} s: {'this process' if last else 'Chromium'} is ended; the threads are at", file=sys.stderr, flush=True)
        faulthandler.dump_traceback()
        if last:
            lab().close()
            os._exit(1)
        self.arm(last=True)
        with contextlib.suppress(OSError):
            os.kill(browser().process, signal.SIGKILL)


watchdog = Watchdog()


@functools.cache
def lab():
    return Lab()


@functools.cache
def browser():
    b = Browser()
    atexit.register(b.close)
    return b


@functools.cache
def originals():
    """What lab has made in FOLDER, as it was before the first test."""
    return {path: path.read_bytes() for path in FOLDER.glob("*.ipynb")}


class Test(unittest.TestCase):
    """Tests in JupyterLab. None may change a tracked file."""

    start_lab = staticmethod(lab)
    pings = False  # whether JupyterLab pings its connections; ours does not, for the reason in lab.py

    @classmethod
    def setUpClass(cls):
        watchdog.arm()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        cls.lab, cls.browser, cls.tabs = cls.start_lab(), browser(), []
        cls.browser.require()
        cls.notebooks = originals()

    def run(self, result=None):
        watchdog.arm()
        return super().run(result)

    def setUp(self):
        late = [path.name for path, data in self.notebooks.items() if path.read_bytes() != data]
        self.assertEqual(late, [], "notebooks that were saved after their test")

    @staticmethod
    def path(name):
        return f"notebooks/copies/{name}.ipynb"

    def open(self, name, tab=Tab, **options):
        """A tab with a notebook: one of those that lab opens, or the file at a path."""
        t = tab(self.lab, self.browser.context, name if "/" in name else self.path(name), **options)
        self.tabs.append(t)
        return t

    def tearDown(self):
        from playwright.sync_api import Error

        for t in self.tabs:
            for leave in (lambda t=t: t.shot(self.id().rpartition(".")[2]), t.page.close):
                with contextlib.suppress(Error):  # a crash may have closed it
                    leave()
        errors = [e for t in self.tabs for e in t.errors]
        self.tabs.clear()
        self.clear()
        changed = changed_files()
        for path, data in self.notebooks.items():
            if path.read_bytes() != data:
                path.write_bytes(data)
        self.assertEqual(errors, [], "errors in the page")
        if not self.pings:
            self.assertNotRegex("".join(self.lab.said), "ping[ _]timeout", "JupyterLab has closed a connection that was in use, or warns of it")
        self.assertEqual(changed, [], "tracked files that the test has changed")

    @classmethod
    def clear(cls):
        """Ends all kernels, and forgets what the live notebook keeps."""
        cls.lab.shut_down_kernels()
        until(lambda: not cells(), "the processes of cells have ended")
        shutil.rmtree(CHECKOUT / ".work" / "explore", ignore_errors=True)
