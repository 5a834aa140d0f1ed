"""The live notebook in a tab."""

import re

from harness import Tab, Test, changed_files


class Explore(Tab):
    """The live notebook; its cell is the last."""

    @property
    def root(self):
        return self.page.locator(".cvgm-live")

    def start(self):
        """Runs all cells and waits for the picture."""
        old = self.root.get_attribute("id") if self.root.count() else None
        self.run_all()
        self.until("(root, old) => root && root.id !== old && root.querySelector('.picture svg')", old)
        self.root.scroll_into_view_if_needed()

    def choose(self, option):
        """Chooses a problem."""
        self.part("problem").select_option(str(option))
        self.settle()

    def part(self, name):
        return self.root.locator("." + name)

    def control(self, label):
        return self.root.locator(f'[data-control="{label}"]')

    def readout(self):
        return self.part("readout").inner_text()

    def frame(self):
        return int(self.root.get_attribute("data-frame"))

    def until(self, condition, arg=None):
        """Waits until the JavaScript condition of (root, arg) holds."""
        self.page.wait_for_function(f"arg => ({condition})(document.querySelector('.cvgm-live'), arg)", arg=arg)

    def until_readout(self, text):
        self.until("(root, text) => root.querySelector('.readout').textContent.includes(text)", text)

    def answered(self):
        """Waits until the page shows what was asked for, and no preview."""
        self.until("root => root.ariaBusy === 'false'")

    def settle(self):
        """Waits until no frame is to come any more."""
        self.until("root => root.ariaBusy === 'false' && root.querySelector('.play').ariaLabel === 'play'")

    def click(self, name):
        """Clicks a button and waits for the frame that answers."""
        self.part(name).click()
        self.answered()

    def play_to(self, step):
        """Plays until the run has so many steps, however long that takes as long as there are more and more."""
        self.click("play")
        last = "root => Number(root.querySelector('.scrub').max)"
        while (reached := self.root.evaluate(last)) < step:
            self.until(f"(root, reached) => ({last})(root) > reached", reached)

    def step(self, n):
        """Shows step n, which is at most 20 steps ahead."""
        self.click("start")
        for _ in range(n):
            self.click("step")
        self.until_readout(f"step {n} ")

    def fresh(self):
        """The paper's values and nothing pinned, at the start."""
        if "unpin" in self.part("pin").inner_text():
            self.click("pin")
        self.click("reset")
        self.click("start")
        self.settle()

    def shot(self, name):
        if self.root.count():
            self.root.evaluate("root => root.scrollIntoView({block: 'nearest'})")
        super().shot(name)

    def picture(self):
        return self.part("picture").inner_html()

    def paths(self, style):
        """The paths of the picture with this style, as the texts of their d."""
        return self.page.eval_on_selector_all(f'.cvgm-live .picture path[style="{style}"]', "all => all.map(p => p.getAttribute('d'))")

    def boundaries(self):
        """The heavy black lines, which are the model's."""
        return self.paths("fill:none;stroke:currentColor;stroke-width:2")

    def drag(self, locator, positions):
        """Takes a slider at its middle and moves it to each of the positions, 0 to 1."""
        box = locator.bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] / 2, y)
        self.page.mouse.down()
        try:
            for at in positions:
                self.page.mouse.move(box["x"] + at * box["width"], y)
                yield at
        finally:  # also after a failure: the page belongs to the next test
            self.page.mouse.up()
        # A page that has much to do may not have heard of the mouse yet.
        self.page.evaluate("() => new Promise(requestAnimationFrame)")


class OnePage(Test):
    """Tests that share a page of the live notebook."""

    script = ""  # that the page runs before its own

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.clear)
        context = cls.browser.new_context()
        context.add_init_script(cls.script)
        cls.p = Explore(cls.lab, context, cls.path("explore"))
        cls.addClassCleanup(context.close)
        cls.prepare()
        cls.p.start()

    @classmethod
    def prepare(cls):
        """What is done before the notebook is run."""

    def setUp(self):
        self.p.choose(0)
        self.p.fresh()

    def tearDown(self):
        self.p.shot(self.id().rpartition(".")[2])
        self.assertEqual(self.p.errors, [], "errors in the page")
        self.assertEqual(changed_files(), [], "tracked files that the test has changed")
