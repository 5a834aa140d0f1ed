"""What the live notebook has when it comes back."""

import os
import signal
import time

from explore import Explore, OnePage
from harness import CHECKOUT, Test, cells, kernels, until


class Survival(Test):
    def explore(self):
        """The live notebook with settings that are not the paper's, a pinned run and a step."""
        p = self.open("explore", Explore)
        p.start()
        p.choose(1)
        p.fresh()
        p.step(4)
        p.click("pin")
        p.control("C").focus()
        p.page.keyboard.press("ArrowLeft")
        p.until("root => root.querySelector('.command').textContent.endsWith('-p C=20')")
        p.answered()
        p.click("step")
        p.click("step")
        p.part("scrub").focus()
        p.page.keyboard.press("ArrowLeft")
        p.until_readout("step 5 ")
        p.settle()
        self.assertIn("pinned step 5 ", p.readout())
        return p, self.shown(p)

    def shown(self, p):
        """All that a reader sees of the state."""
        return [
            p.part("problem").input_value(),
            p.page.eval_on_selector_all(".cvgm-live [data-control]", "all => all.map(e => e.value)"),
            p.readout(),
            p.part("count").inner_text(),
            p.part("command").inner_text(),
            p.part("pin").inner_text(),
            p.part("play").get_attribute("aria-label"),
            p.picture(),
        ]

    def returned(self, p, before):
        p.until("root => root?.dataset.frame")
        p.settle()
        after = self.shown(p)
        self.assertEqual(after[:-1], before[:-1])
        self.assertTrue(after[-1] == before[-1], "another picture")

    def test_reload(self):
        """A saved notebook shows the same run again, without a cell being run."""
        p, before = self.explore()
        p.save()
        process = cells()
        p.reload()
        self.returned(p, before)
        self.assertEqual(cells(), process)
        p.part("play").click()
        p.until("root => Number(root.querySelector('.scrub').value) >= 9")  # a busy page skips frames
        p.reload()
        p.until("root => root?.dataset.frame && root.querySelector('.play').ariaLabel === 'pause'")
        step = int(p.part("scrub").input_value())
        p.until("(root, step) => Number(root.querySelector('.scrub').value) > step + 5", step)

    def test_run_again(self):
        """Where the page has not been saved, the cell brings all back when it is run again."""
        p, before = self.explore()
        self.assertNotIn("cvgm-live", (CHECKOUT / p.path).read_text(), "the notebook was saved")
        p.reload()
        self.assertEqual(p.root.count(), 0)
        p.start()
        self.returned(p, before)
        self.assertEqual(len(cells()), 1)
        # A run that nobody sees any more makes way for the next.
        p.start()
        self.returned(p, before)
        self.assertEqual(len(cells()), 1)
        # Interrupted, the picture stays.
        p.menu("Kernel", "Interrupt Kernel")
        p.page.wait_for_selector(".cvgm-live", state="detached")
        last = p.last_cell()
        last.locator("img").wait_for()
        self.assertIn(before[2].splitlines()[0], p.output(last))
        self.assertEqual(last.locator(".jp-OutputArea-output[data-mime-type*=error]").count(), 0)
        p.page.wait_for_timeout(500)
        p.shot("interrupted")
        p.start()
        self.returned(p, before)
        self.browser.crash()
        p = self.open("explore", Explore)
        p.start()
        self.returned(p, before)
        p.click("step")
        p.until_readout("step 6 ")

    def test_kernel_ends(self):
        """The process ends with its kernel, the page asks for the cell to be run, and that brings all back."""
        p, before = self.explore()
        (kernel,) = filter(children, kernels())
        self.assertEqual(children(kernel), cells())
        os.kill(kernel, signal.SIGKILL)
        until(lambda: not cells(), "the cell's process has ended")
        p.until("root => root.querySelector('.speed').textContent.includes('run the cell again')")
        p.shot("killed")
        p.page.locator(".jp-Dialog button").last.click()
        p.start()
        self.returned(p, before)
        p.menu("Kernel", "Shut Down Kernel")
        p.page.evaluate("document.querySelector('.cvgm-live .step')?.click()")  # disabled, if the cell could say goodbye
        p.until("root => !root || root.querySelector('.speed').textContent.includes('run the cell again')")
        until(lambda: not cells(), "the cell's process has ended")
        p.shot("stopped")

    def test_second_tab(self):
        """Both tabs show the same run and move it; one may go."""
        p, before = self.explore()
        p.save()
        q = self.open("explore", Explore, reset=False)
        q.until("root => root?.dataset.frame")
        q.settle()
        self.assertEqual(self.shown(q)[:-1], before[:-1])
        q.click("step")
        p.until_readout("step 6 ")
        p.control("seed").focus()
        p.page.keyboard.press("ArrowRight")
        for tab in (p, q):
            tab.until("root => root.querySelector('[data-control=seed]').getAttribute('aria-valuetext') === '1'")
        p.answered()
        p.settle()
        self.assertEqual(self.shown(p)[:-1], self.shown(q)[:-1])
        p.choose(0)
        q.until("root => root.querySelector('.problem').value === '0' && root.querySelector('[data-control=noise]')")
        p.page.close()
        q.page.wait_for_timeout(35_000)  # longer than a page may be silent
        q.part("play").click()
        q.until("root => root.querySelector('.play').ariaLabel === 'pause'")


class Loss(OnePage):
    """The kernel drops messages, or does nothing for a while."""

    # Drops what is sent while lose.sent holds of it, and what comes while lose.come does.
    script = """
        window.lose = {sent: () => false, come: () => false};
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (data) {
            if (!(typeof data === 'string' && data.includes('/events') && lose.sent(data))) send.call(this, data);
        };
        const {get, set} = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
        Object.defineProperty(WebSocket.prototype, 'onmessage', {get, set(hear) {
            set.call(this, e => { if (!(typeof e.data === 'string' && e.data.includes('/frames') && lose.come(e.data))) hear.call(this, e); });
        }});
    """

    def setUp(self):
        self.p.page.evaluate("lose.sent = lose.come = () => false")
        super().setUp()

    def test_release_is_lost(self):
        """The exact picture comes also if the message that a slider is let go is dropped."""
        p = self.p
        p.step(3)
        for _ in p.drag(p.control("noise"), [0.2, 0.3]):
            p.until_readout("preview")
            p.page.evaluate(r"() => { let first = true; lose.sent = data => /dragging\W+false/.test(data) && first && !(first = false); }")
        p.until("root => !root.querySelector('.readout').textContent.includes('preview')")
        p.settle()
        self.assertIn("step 3 ", p.readout())

    def test_events_are_lost(self):
        """Each step is taken once, however many messages are dropped."""
        p = self.p
        p.page.evaluate("() => { let n = 0; lose.sent = () => n++ % 3; }")
        for _ in range(9):
            p.part("step").click()
        p.settle()
        self.assertIn("step 9 ", p.readout())

    def test_last_frame_is_lost(self):
        p = self.p
        p.page.evaluate("() => { let n = 0; lose.come = data => data.includes('svg') && n++ < 1; }")
        p.part("step").click()
        p.settle()
        self.assertIn("step 1 ", p.readout())

    def test_kernel_stops_for_a_while(self):
        p = self.p
        (kernel,) = filter(children, kernels())
        os.kill(kernel, signal.SIGSTOP)
        try:
            p.part("step").click()
            time.sleep(20)
        finally:
            os.kill(kernel, signal.SIGCONT)
        p.settle()
        self.assertIn("step 1 ", p.readout())
        p.click("step")
        p.settle()
        self.assertIn("step 2 ", p.readout())


class Reconnection(OnePage):
    """GoNB's own script connects the page once more before its first connection is made."""

    # GoNB's own connections, which have no session, are never made. While mute, the page's connection loses
    # what it sends; JupyterLab's sends no strings.
    script = """
        window.connections = 0;
        window.mute = false;
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (data) {
            if (!(mute && typeof data === 'string')) send.call(this, data);
        };
        window.WebSocket = new Proxy(WebSocket, {construct(Socket, [url, ...rest]) {
            if (!/channels$/.test(url)) return new Socket(url, ...rest);
            connections++;
            return {send() {}, close() { this.onclose({}); }};
        }});
    """

    def test_page_works_on(self):
        p = self.p
        p.page.evaluate("() => { mute = true; connections = 0; }")
        p.page.wait_for_function("connections > 0")
        p.page.evaluate("() => { mute = false; }")
        p.click("step")
        p.settle()
        self.assertIn("step 1 ", p.readout())


def children(process):
    """The processes of cells that a kernel has started."""
    found = []
    for cell in cells():
        with open(f"/proc/{cell}/stat") as f:
            if int(f.read().rpartition(")")[2].split()[1]) == process:
                found.append(cell)
    return found
