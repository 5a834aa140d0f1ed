"""The live notebook by keyboard, by screen reader, on a dark and on a small screen."""

import re

from explore import OnePage
from harness import until

CONTROLS = ["N", "noise", "C", "K splits", "split fraction", "step size", "hidden width", "seed", "gradient"]
BUTTONS = ["problem", "back to the start", "play", "one step", "step shown", "pin", "paper's values"]

# The name and the outline of what has the focus.
FOCUS = """() => {
    const e = document.activeElement, live = e.closest('.cvgm-live');
    const s = getComputedStyle(e);
    return [live ? e.getAttribute('aria-label') || e.textContent.trim() : '', s.outlineStyle, parseFloat(s.outlineWidth)];
}"""


class Access(OnePage):
    def tree(self):
        """What a screen reader is given of the live cell, as {(role, name): node}."""
        session = self.p.page.context.new_cdp_session(self.p.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        session.detach()
        found = {}
        for node in nodes:
            if not node["ignored"]:
                said = {x["name"]: x["value"].get("value") for x in node.get("properties", [])}
                said |= {name: node[name].get("value") for name in ("value", "description") if name in node}
                found[node["role"]["value"], node.get("name", {}).get("value")] = said
        return found

    def test_keyboard(self):
        """Tab reaches every control from the cell, in order, and shows where it is."""
        p = self.p
        p.last_cell().locator(".cm-content").click()
        p.page.keyboard.press("Escape")
        reached = []
        for _ in range(60):
            p.page.keyboard.press("Tab")
            name, style, width = p.page.evaluate(FOCUS)
            if name:
                self.assertTrue(style != "none" and width >= 2, f"{name}: outline {style} {width}")
                reached.append(name)
            if name == CONTROLS[-1]:
                break
        self.assertEqual(reached, BUTTONS + CONTROLS)
        p.page.keyboard.press("Shift+Tab")
        p.page.keyboard.press("Shift+Tab")
        self.assertEqual(p.page.evaluate(FOCUS)[0], "hidden width")
        p.page.keyboard.press("ArrowLeft")
        p.until("root => root.querySelector('.command').textContent.endsWith('-p Hidden=32')")
        p.page.keyboard.press("Space")
        p.until_readout("step 3 ")
        p.page.keyboard.press("Space")
        p.until("root => root.querySelector('.play').ariaLabel === 'play'")
        p.part("step").focus()
        before = p.frame()
        p.page.keyboard.press("Enter")
        p.until("(root, n) => Number(root.dataset.frame) > n", before)
        p.part("problem").focus()
        p.page.keyboard.press("ArrowDown")
        p.until("root => root.querySelector('[data-control=\"noise (overlap)\"]')")
        self.assertEqual(p.page.evaluate(FOCUS)[0], "problem")
        # Escape leaves the controls for the cell, where keys are the notebook's again.
        p.page.keyboard.press("Escape")
        self.assertEqual(p.page.evaluate(FOCUS)[0], "")
        cells = p.page.locator(".jp-Notebook .jp-Cell").count()
        p.page.keyboard.press("b")
        until(lambda: p.page.locator(".jp-Notebook .jp-Cell").count() == cells + 1, "a cell below")
        p.page.keyboard.press("z")
        until(lambda: p.page.locator(".jp-Notebook .jp-Cell").count() == cells, "no cell below")

    def test_keys_are_the_controls_own(self):
        """Keys that are commands of the notebook do nothing to it from a control."""
        p = self.p
        cells = p.page.locator(".jp-Notebook .jp-Cell").count()
        for control in (p.control("seed"), p.part("step"), p.part("problem")):
            control.focus()
            for key in ("a", "b", "d", "d", "x", "m", "ArrowUp", "ArrowDown"):
                p.page.keyboard.press(key)
        p.page.wait_for_timeout(500)
        self.assertEqual(p.page.locator(".jp-Notebook .jp-Cell").count(), cells)
        self.assertEqual(p.page.locator(".cvgm-live").count(), 1)

    def test_screen_reader(self):
        p = self.p
        p.control("K splits").focus()
        p.page.keyboard.press("ArrowRight")
        p.answered()
        p.step(3)
        p.settle()
        tree = self.tree()
        for name in CONTROLS[:-1]:
            said = tree["slider", name]
            text = p.control(name).get_attribute("aria-valuetext")
            self.assertTrue(said["description"], name)
            shown = p.control(name).evaluate("e => e.parentElement.querySelector('b').textContent")
            self.assertEqual(text.split()[0], shown)
        self.assertEqual(p.control("K splits").get_attribute("aria-valuetext"), "512 splits")
        self.assertEqual(p.part("scrub").get_attribute("aria-valuetext"), "step 3 of 3")
        self.assertIn(("slider", "step shown"), tree)
        self.assertIn(("combobox", "gradient"), tree)
        for name in BUTTONS[1:4] + BUTTONS[5:]:
            self.assertIn(("button", name), tree)
        (picture,) = [name for role, name in tree if role in ("img", "image") and name and name.startswith("Rings")]
        self.assertIn("after 3 steps", picture)
        self.assertIn("60 training examples", picture)
        p.click("step")
        p.settle()
        self.assertIn("after 4 steps", p.part("picture").get_attribute("aria-label"))

    def test_what_is_read_aloud(self):
        """The numbers are read when they have come to rest, not while it plays or a slider moves."""
        p = self.p
        spoken = p.part("spoken")
        self.assertEqual(spoken.get_attribute("role"), "status")
        p.page.evaluate(
            """() => {
                window.spoken = [];
                const e = document.querySelector('.cvgm-live .spoken');
                new MutationObserver(() => spoken.push(e.textContent)).observe(e, {childList: true, characterData: true, subtree: true});
            }"""
        )
        read = "root => root.querySelector('.spoken').textContent === root.querySelector('.readout').textContent.replace(/\\n/g, '; ').replace(/ {2,}/g, ', ')"
        p.until(read)
        p.page.evaluate("spoken.length = 0")
        p.part("play").click()
        p.until_readout("step 20 ")
        p.page.wait_for_timeout(1500)
        self.assertEqual(p.page.evaluate("spoken"), [])
        p.click("play")
        p.until(read)
        for _ in p.drag(p.control("noise"), [0.2 + 0.01 * k for k in range(30)]):
            p.page.wait_for_timeout(30)
        p.answered()
        p.until(read)
        said = p.page.evaluate("spoken")
        self.assertEqual(len(said), 2, said)
        self.assertEqual(re.findall(r"[\d.]+", said[-1]), re.findall(r"[\d.]+", p.readout()))

    def test_small_screen(self):
        """At 200 % of 1280×800 nothing is cut off, and only the picture scrolls sideways."""
        p = self.p
        size = p.page.viewport_size
        self.addCleanup(p.page.set_viewport_size, size)
        p.page.set_viewport_size({"width": size["width"] // 2, "height": size["height"] // 2})
        p.page.wait_for_timeout(300)
        p.shot("zoomed")
        cut = """() => [...document.querySelectorAll('.cvgm-live :is(button, select, input, label, .count, .readout, .command)')]
            .filter(e => { const a = e.getBoundingClientRect(), b = document.querySelector('.cvgm-live').getBoundingClientRect();
                return a.left < b.left - 1 || a.right > b.right + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth; })
            .map(e => e.getAttribute('aria-label') || e.className || e.textContent)"""
        self.assertEqual(p.page.evaluate(cut), [])
        box = p.root.bounding_box()
        self.assertLessEqual(box["x"] + box["width"], size["width"] // 2)
        p.control("gradient").scroll_into_view_if_needed()
        p.control("gradient").select_option(label="published")
        p.until_readout("angle")
        # Each frame replaces the drawing, so it is looked for and measured in one go.
        p.until("root => root.querySelector('.picture svg')?.getBoundingClientRect().width >= 640")
