"""How long the notebooks and their results took, and so how long a run will take.

.work/seconds.json holds the seconds of the last run of each part on this machine:
of each result where it was computed, and of the rest of each notebook. Without it
the seconds in figures/out/timings.json serve, as they are until this run has measured
a part and then scaled by that.
"""

import json

import provenance
from checkout import WORK, as_json, write_atomic

PART = "runs"  # of timings.json
FILE = WORK / "seconds.json"
UNKNOWN = {"notebooks": {}, "results": {}}
PRIOR = 10  # seconds by which this machine's last run counts against what this run has measured


def load(path):
    """What path records; empty where it records nothing."""
    try:
        found = json.loads(path.read_bytes())
        found = found.get(PART, {}) if path == provenance.TIMINGS else found
        ours = {name: {"seconds": float(n["seconds"]), "results": list(n["results"])} for name, n in found["notebooks"].items()}
        return {"notebooks": ours, "results": {name: float(s) for name, s in found["results"].items()}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {kind: {} for kind in UNKNOWN}


def label(task, function):
    """The name of a function's result; a run with parameters of its own has its own."""
    return f"{task.name} {function}" if task.overrides else function


def record(task, seconds, records):
    """Keeps what a finished run of task took."""
    known = load(FILE)
    computed = {r["computed"]: r["seconds"] for r in records if "computed" in r}
    used = {label(task, r["function"]): r["key"] for r in records if "key" in r}
    known["results"] |= {name: round(computed[key], 3) for name, key in used.items() if key in computed}
    rest = max(0, seconds - sum(computed.values()))
    known["notebooks"][task.name] = {"seconds": round(rest, 3), "results": list(used)}
    write_atomic(FILE, as_json(known).encode())


def reference(names):
    """The seconds to be committed: those of this machine once it has run the notebooks of
    these names and computed all their results, else those that are committed."""
    own = load(FILE)
    complete = all(name in own["notebooks"] and own["results"].keys() >= set(own["notebooks"][name]["results"]) for name in names)
    if not complete:
        return load(provenance.TIMINGS)
    notebooks = {name: own["notebooks"][name] for name in names}
    used = {result for notebook in notebooks.values() for result in notebook["results"]}
    return {"notebooks": notebooks, "results": {name: own["results"][name] for name in sorted(used)}}


class Estimate:
    """The time left of a run of tasks, in their order. Stored holds the keys of the
    results in the store. Changed holds the labels of functions whose sources differ from
    those of the last run, so that its results do not serve."""

    def __init__(self, tasks, stored, known=None, reference=None, changed=frozenset()):
        own = load(FILE) if known is None else known
        reference = load(provenance.TIMINGS) if reference is None else reference
        # Seconds of two machines do not mix.
        self.prior = PRIOR if all(task.name in own["notebooks"] for task in tasks) else 0
        self.known = own if self.prior else reference
        self.tasks, self.stored, self.changed, self.there = list(tasks), stored, changed, set()
        self.took = self.cost = 0  # of the parts that are done: measured, and as known
        # The notebook under way, the result that it computes, and since when; its
        # results that are still to be computed, and the time spent on the rest of it.
        self.task, self.result, self.since, self.ahead, self.rest = None, None, 0, {}, 0

    def parts(self, task, there):
        """The known seconds, by name, of the results that task has to compute where those
        in there are computed."""
        results = self.known["notebooks"].get(task.name, {"results": []})["results"]
        return {name: self.known["results"].get(name, 0) for name in results if name not in there and not self.kept(task, name)}

    def kept(self, task, name):
        last = provenance.read(task)
        return name not in self.changed and bool(last) and any(label(task, r["function"]) == name and r["key"][:16] in self.stored for r in last["results"])

    def begin(self, task, now):
        self.tasks.remove(task)
        self.task, self.result, self.since, self.rest = task, None, now, 0
        self.ahead = self.parts(task, self.there)

    def computes(self, function, now):
        """Notes that the notebook under way begins to compute a function's result."""
        self.end_part(now)
        name = label(self.task, function)
        self.ahead.setdefault(name, self.known["results"].get(name, 0))
        self.result = name

    def computed(self, now):
        """Notes that it has computed it."""
        self.there |= {self.result} - {None}
        self.end_part(now)

    def end(self, now):
        """Notes that the notebook under way has ended."""
        self.end_part(now)
        known = self.known["notebooks"].get(self.task.name, {"seconds": 0, "results": []})
        self.took += self.rest
        self.cost += known["seconds"]
        self.there |= set(known["results"])
        self.task = None

    def end_part(self, now):
        if self.result:
            self.took += now - self.since
            self.cost += self.ahead.pop(self.result)
        else:
            self.rest += now - self.since
        self.result, self.since = None, now

    def total(self):
        """The seconds of the run by what is known before it begins, whether that was measured
        on this machine, and the names of the notebooks whose seconds are unknown; None for the
        seconds if there are such."""
        return self.coming(), self.prior > 0, [task.name for task in self.tasks if task.name not in self.known["notebooks"]]

    def coming(self):
        """The known seconds of the notebooks to come; None if those of one are unknown."""
        if any(task.name not in self.known["notebooks"] for task in [*self.tasks, *filter(None, [self.task])]):
            return None
        there, total = self.there | self.ahead.keys(), 0
        for task in self.tasks:
            results = self.parts(task, there)
            total += self.known["notebooks"][task.name]["seconds"] + sum(results.values())
            there |= results.keys()
        return total

    def at(self, now, share=0):
        """The part of the run that is done, from 0 to 1, and the seconds left; None for
        each if the seconds of a notebook are unknown. Share is the part that is done of the result
        under way, as the experiment counts: the later, the more it counts for the time
        left, since parts of an experiment take different times."""
        coming = self.coming()
        if coming is None or not self.task:
            return None, None
        rest, elapsed = self.known["notebooks"][self.task.name]["seconds"], now - self.since
        if self.result:
            current, queue = self.ahead[self.result], coming + sum(self.ahead.values()) - self.ahead[self.result] + max(0, rest - self.rest)
        else:
            current, queue, elapsed = rest, coming + sum(self.ahead.values()), elapsed + self.rest
        measured, known = self.took + self.prior, self.cost + self.prior
        speed = max(measured / known if known else 1, (measured + elapsed) / max(known + current, 1e-9))
        if self.result and share * current > 0:
            speed += share * max(0, elapsed / (share * current) - speed)
            left = speed * (queue + (1 - share) * current)
        else:
            left = speed * queue + max(0, speed * current - elapsed)
        spent = self.took + self.rest + now - self.since
        return spent / max(spent + left, 1e-9), left
