"""How long the cells take that show something, from the key to the picture."""

import json
import statistics

from harness import CHECKOUT, FOLDER, Lab, Tab, browser, until

# Resolves with the seconds from now until the cell has run and its pictures are drawn.
FINISH = """(prompt) => new Promise((resolve, reject) => {
    const start = performance.now();
    setTimeout(() => reject(new Error("the cell has not run within 10 minutes")), 600_000);
    prompt.textContent = '';
    const look = async () => {
        if (!/\\d/.test(prompt.textContent)) return requestAnimationFrame(look);
        const pictures = [...prompt.closest('.jp-Cell').querySelectorAll('.jp-OutputArea-output img')];
        await Promise.all(pictures.map(p => p.decode().catch(() => {})));
        resolve((performance.now() - start) / 1000);
    };
    look();
})"""


def seconds(tab, cell):
    """Runs a cell by Ctrl-Enter."""
    if cell.locator(".jp-InputPlaceholder").count():  # its source is folded
        cell.locator(".jp-InputPlaceholder").click()
    cell.locator(".cm-content").first.click()
    prompt = cell.locator(".jp-InputPrompt").first.element_handle()
    # The page is asked first, and answers once the cell has run.
    tab.page.evaluate("([f, prompt]) => { window.finished = eval(f)(prompt); }", [FINISH, prompt])
    tab.page.keyboard.press("Control+Enter")
    return tab.page.evaluate("() => window.finished")


def measure(rounds):
    """Runs the cells of every notebook in their order, each round in new kernels."""
    lab, b, found = Lab(), browser(), {}
    for path in rounds * sorted((CHECKOUT / "notebooks").glob("*.ipynb")):
        tab = Tab(lab, b.context, str((FOLDER / path.name).relative_to(CHECKOUT)))
        tab.page.set_default_timeout(600_000)
        count = sum(cell["cell_type"] == "code" for cell in json.loads(path.read_bytes())["cells"])
        until(lambda: tab.code_cells.count() == count, "all cells are there")  # they come as the page has time
        for i in range(count):
            cell = tab.code_cells.nth(i)
            source = tab.source(cell)
            if "live.Show" not in source:
                took = seconds(tab, cell)
                if "%%" in source:  # the others declare
                    found.setdefault(f"{path.stem}, code cell {i + 1}", []).append(took)
        tab.page.close()
        lab.shut_down_kernels()
    found = {name: statistics.median(took) for name, took in found.items()}
    for name, took in found.items():
        print(f"{name}: {took:.2f} s")
    worst = max(found, key=found.get)
    print(f"{len(found)} cells, medians of {rounds} runs: median {statistics.median(found.values()):.2f} s, worst {found[worst]:.2f} s ({worst})")
    lab.close()
