"""Plays with the live notebook: its numbers and pictures, its speed, its looks."""

import csv
import itertools
import math
import re
import time
from pathlib import Path

from explore import OnePage
from harness import CHECKOUT, PATIENCE, cells


class Live(OnePage):
    @classmethod
    def prepare(cls):
        # Before anything runs, what was saved is shown.
        page = cls.p.page
        page.wait_for_selector(".jp-OutputArea img")
        page.locator(".jp-OutputArea img").first.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        cls.p.shot("saved")
        cls.saved = page.eval_on_selector_all(".jp-OutputArea img", "all => all.map(i => i.naturalWidth)")

    def states(self, problem, gradient="full"):
        """The numbers that the strip's table has of a problem, by step."""
        with open(CHECKOUT / "figures" / "out" / "explore" / f"explore_{problem}.csv", newline="") as f:
            return {int(row["Step"]): row for row in csv.DictReader(f) if row["Gradient"] == gradient}

    def test_saved_notebook_shows_pictures(self):
        self.assertEqual(len(self.saved), 3)
        self.assertGreater(min(self.saved), 1000)

    def test_numbers_and_pictures_of_each_problem(self):
        for option, problem, steps in ((0, "rings", 20), (1, "xor", 5), (2, "elastic_net", 20)):
            with self.subTest(problem):
                self.p.choose(option)
                self.p.click("start")
                first = self.p.picture()
                self.p.step(steps)
                self.p.settle()
                self.p.shot(problem)
                self.assertTrue(self.p.picture() != first, "the picture stays")
                state = self.states(problem)[steps]
                said = self.p.readout()
                for name in ("CV loss", "Training loss", "Test loss"):
                    self.assertIn(f"{float(state[name]):.4f}", said)
                self.assertEqual(self.p.part("command").inner_text(), f"./reproduce.sh {problem}")
                self.assertRegex(self.p.part("speed").inner_text(), r"^\d+\.\d\d ms per step$")
                if problem == "elastic_net":
                    self.assertEqual(self.p.part("picture").locator("image").count(), 1)
                    lines = self.p.paths("fill:none;stroke:var(--live-blue,#0072B2);stroke-width:2.2")
                    self.assertEqual(max(d.count("L") for d in lines), steps)
                else:
                    # Dots: all training examples, and test examples.
                    for colour in ("var(--live-blue,#0072B2)", "#D55E00"):
                        paths = self.p.paths(f"fill:{colour}")
                        dots = [[float(v) for v in start] for d in paths for start in re.findall(r"M([\d.]+),([\d.]+)[AL]", d)]
                        dots = [x for x, y in dots if y > 20]  # not the key's
                        left = sum(x < 290 for x in dots)  # of the panel at the left
                        self.assertEqual(left, {"rings": 30, "xor": 50}[problem])
                        self.assertGreater(len(dots) - left, 200)
                    self.assertGreaterEqual(len(self.p.boundaries()), 2)

    def test_play_pause_and_scrub(self):
        heights = "root => { window.heights = new Set(); window.bare = 0; (function look() { if (window.stopped) return; heights.add(root.offsetHeight); bare += !root.querySelector('.picture svg'); requestAnimationFrame(look); })(); }"
        self.p.page.evaluate(f"({heights})(document.querySelector('.cvgm-live'))")
        self.addCleanup(self.p.page.evaluate, "window.stopped = true")
        before, since = self.p.frame(), time.monotonic()
        self.p.play_to(200)
        shown = self.p.frame() - before
        print(f"play: {shown / (time.monotonic() - since):.0f} steps a second drawn, {self.p.part('speed').inner_text()}")
        self.p.click("play")
        self.p.settle()
        self.assertEqual(self.p.part("play").get_attribute("aria-label"), "play")
        self.assertEqual(self.p.page.evaluate("[heights.size, bare]"), [1, 0], "the picture flickers")
        end = int(re.search(r"step (\d+) of \1$", self.p.part("count").inner_text()).group(1))
        self.assertIn(f"step {end} ", self.p.readout())
        boundary = self.p.boundaries()
        for _ in self.p.drag(self.p.part("scrub"), [0.4, 0.2, 0.1, 0]):
            self.p.page.wait_for_timeout(50)
        self.p.until_readout("step 0 ")
        self.assertNotEqual(self.p.boundaries(), boundary)
        self.assertEqual(self.p.part("count").inner_text(), f"step 0 of {end}")
        self.p.shot("scrubbed")
        for _ in self.p.drag(self.p.part("scrub"), [0.5, 1]):
            pass
        self.p.until_readout(f"step {end} ")
        self.p.settle()
        self.assertEqual(self.p.boundaries(), boundary)
        # Let go where it was taken up, the slider goes along again.
        for _ in self.p.drag(self.p.part("scrub"), [0.5, 1]):
            self.p.page.wait_for_timeout(50)
        self.p.settle()
        self.p.click("step")
        self.assertEqual(self.p.part("scrub").input_value(), str(end + 1))
        self.p.play_to(1000)  # where a run ends
        self.p.settle()
        slider = self.p.part("scrub").bounding_box()
        for _ in self.p.drag(self.p.part("scrub"), [0]):
            pass
        self.p.until_readout("step 0 ")
        self.assertEqual(self.p.part("scrub").bounding_box(), slider, "the slider moves with the digits of the step")

    def test_drag_and_pin(self):
        self.p.step(20)
        self.p.click("pin")
        pinned = self.p.readout().splitlines()[1]
        self.assertIn("pinned step 20", pinned)
        noise = self.p.control("noise")
        seen = set()
        late = time.monotonic() + PATIENCE
        there_and_back = (0.5 + 0.45 * math.sin(k / 9) for k in itertools.count())
        moves = itertools.takewhile(lambda _: len(seen) < 5 and time.monotonic() < late, there_and_back)
        for at in self.p.drag(noise, itertools.chain(moves, [0.05])):
            self.p.page.wait_for_timeout(15)
            if "preview" in (said := self.p.readout()):
                seen.add(said)
        self.p.answered()
        self.p.settle()
        self.p.shot("pinned")
        self.assertGreater(len(seen), 3, "previews follow the slider")
        value = self.p.page.evaluate("document.querySelector('[data-control=noise]').parentElement.querySelector('b').textContent")
        self.assertEqual(value, ".05")
        self.assertEqual(self.p.part("command").inner_text(), "./reproduce.sh rings -p RadiusSD=.05")
        said = self.p.readout().splitlines()
        self.assertEqual(said[1], pinned)
        self.assertIn("step 20 ", said[0])
        self.assertNotEqual(said[0].removeprefix("this"), pinned.removeprefix("pinned"))
        dashed = "fill:none;stroke:#CC79A7;stroke-width:1.3;stroke-dasharray:4,3"
        self.assertGreaterEqual(len(self.p.paths(dashed)), 4)
        # Back at the paper's noise, the run is the pinned one.
        noise.focus()
        for _ in range(7):
            self.p.page.keyboard.press("ArrowRight")
        self.p.until("root => root.querySelector('.command').textContent === './reproduce.sh rings'")
        self.p.answered()
        self.p.settle()
        said = self.p.readout().splitlines()
        self.assertEqual(said[0].removeprefix("this  "), said[1].removeprefix("pinned"))
        self.p.click("pin")
        self.assertEqual(self.p.paths(dashed), [])

    def test_speed(self):
        """Prints how fast the picture follows, which it must."""
        for option, label in ((0, "noise"), (1, "noise (overlap)"), (2, "noise")):
            self.p.choose(option)
            self.p.step(20)
            fps, release = self.p.page.evaluate(
                """async ([label, patience]) => {
                    const root = document.querySelector('.cvgm-live'), slider = root.querySelector(`[data-control="${label}"]`);
                    const wait = ms => new Promise(done => setTimeout(done, ms));
                    const late = performance.now() + 1000 * patience;
                    const missing = what => { if (performance.now() > late) throw new Error(`no ${what} within ${patience} s`); };
                    const first = Number(root.dataset.frame), start = performance.now();
                    for (let k = 0; performance.now() - start < 2000 || Number(root.dataset.frame) === first; k++) {
                        missing('preview');
                        slider.value = 2 + k % 5;
                        slider.dispatchEvent(new Event('input'));
                        await wait(16);
                    }
                    const fps = (Number(root.dataset.frame) - first) / (performance.now() - start) * 1e3;
                    await wait(300);
                    const release = performance.now();
                    slider.dispatchEvent(new Event('change'));
                    for (; root.ariaBusy === 'true'; await wait(5)) missing('exact picture');
                    return [fps, performance.now() - release];
                }""",
                [label, PATIENCE],
            )
            name = self.p.part("problem").locator("option").nth(option).inner_text()
            print(f"{name}, 20 steps: {fps:.0f} previews a second, exact picture {release:.0f} ms after the release")

    def test_gradient_variants(self):
        self.p.step(20)
        full = self.p.boundaries()
        self.p.control("gradient").select_option(label="published")
        state = self.states("rings", "published")[20]
        self.p.until_readout(f"{float(state['CV loss']):.4f}")
        self.assertIn(f"angle {float(state['Angle (°)']):.0f}°", self.p.readout())
        self.assertNotEqual(self.p.boundaries(), full)
        self.p.settle()
        self.p.shot("published")

    def test_legible_in_both_themes(self):
        setting = "@jupyterlab/apputils-extension:themes"
        raw = self.lab.settings("GET", setting)["raw"]
        self.addCleanup(self.lab.settings, "PUT", setting, {"raw": raw})
        overflow = """root => [root, ...root.querySelectorAll('label, .bar, .controls, .foot, button')]
            .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className || e.textContent)"""
        contrast = """root => {
            const light = rgb => rgb.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
                .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
            let ground = root;
            while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
            const a = light(getComputedStyle(ground).backgroundColor);
            const of = (e, property) => { const b = light(getComputedStyle(e)[property]); return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
            return Math.min(...[...root.querySelectorAll('label span, label b, .readout, .count, .picture text')].map(e => of(e, e.tagName === 'text' ? 'fill' : 'color')),
                ...[...root.querySelectorAll(['var(--live-blue', '#D55E00', 'currentColor'].map(c => `.picture path[style^="fill:${c}"]`).join())].map(e => 1.5 * of(e, 'fill')));
        }"""
        live = "document.querySelector('.cvgm-live')"
        for theme in ("JupyterLab Dark", "JupyterLab Light"):
            self.p.menu("Settings", "Theme", theme)
            self.p.until("(_, dark) => (document.body.dataset.jpThemeLight === 'false') === dark", "Dark" in theme)
            self.p.page.wait_for_timeout(300)
            for option, name in ((0, "rings"), (2, "elastic_net")):
                self.p.choose(option)
                self.p.shot(f"{theme.split()[1].lower()}_{name}")
                self.assertEqual(self.p.page.evaluate(f"({overflow})({live})"), [], "cut off")
                self.assertGreater(self.p.page.evaluate(f"({contrast})({live})"), 4.5, theme)
        size = self.p.page.viewport_size
        self.addCleanup(self.p.page.set_viewport_size, size)
        self.p.page.set_viewport_size({"width": 900, "height": 800})
        self.p.page.wait_for_timeout(300)
        self.p.shot("narrow")
        self.assertEqual(self.p.page.evaluate(f"({overflow})({live})"), [], "cut off in a narrow window")
        self.p.page.set_viewport_size(size)
        box = self.p.root.bounding_box()
        self.assertLess(box["height"], 600, "fits on a screen of 1280×800")
        self.assertLess(box["x"] + box["width"], 1280)


def soak(minutes):
    """Plays, resets and changes problems for so long, and prints the cell's memory."""
    Live.setUpClass()
    try:
        p, end, sizes = Live.p, time.monotonic() + 60 * minutes, []
        while time.monotonic() < end:
            for option in range(3):
                p.choose(option)
                p.click("start")
                p.click("reset")
                p.click("pin")
                p.part("play").click()
                p.page.wait_for_timeout(10_000)
                if p.part("play").get_attribute("aria-label") == "pause":
                    p.click("play")
            status = Path("/proc", str(cells()[0]), "status").read_text()
            sizes.append(int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024)
            print(f"{minutes - (end - time.monotonic()) / 60:5.1f} min: {sizes[-1]} MB in the cell's process, frame {p.frame()}", flush=True)
        print(f"after the first round {sizes[0]} MB, at most {max(sizes)} MB, at the end {sizes[-1]} MB")
    finally:
        Live.doClassCleanups()
