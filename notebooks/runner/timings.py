"""Runs the benchmarks and records what they take in figures/out/timings.json.

Timings differ from machine to machine and from run to run, so this is the one
place that holds any, with the machine and the date, except those beside peers, which
are on notebooks/peers/README.md; whatever states a time draws it from one of the two,
and no output that is compared holds a fresh one.
"""

import datetime
import os
import platform
import re
import statistics
import sys

import durations
import environment
import processes
import provenance
from checkout import ROOT, as_json, log, write_atomic
from experiments import experiments

# Those timed, by package: a step of each experiment, warm and cold, every
# searcher, both kinds of differentiation, the QP solver on the sizes at which such
# solvers are compared, and learners of large tables.
BENCHMARKS = {
    "cvgm": ["ElasticNetStep", "ElasticNetCold", "LearnedKernelStep", "KernelRidge"],
    "cvgm/tune": ["LargeCV", "LargeTune"],
    "cvgm/experiment/differentiability": ["Differentiation"],
    "cvgm/experiment/searches": ["Searcher"],
    "qpdiff": ["QPSolve", "QPWarm", "QPBackward"],
    "qpdiff/internal/dense": ["Peak"],
}
COUNT = 9  # of which the median is taken; all but the outermost two hold the true one with a probability of .96
BUSY = 0.5  # of a core: from this load on other work slows what is measured

LEAST_WORK = {"operations/op": "operations", "moved-B/op": "bytes"}  # units, and the benchmarks of their peaks

LINE = re.compile(r"^Benchmark(\S+)\s+\d+\s+(.*)$", re.M)


def record(env):
    """Times every benchmark and writes the file."""
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0]
    if busy >= BUSY:
        log.warning(f"the machine is busy (load {busy:.1f}): the times will be marked as such")
    found = {}
    for package, names in BENCHMARKS.items():
        log.info(f"timing {package}: {', '.join(names)}, {COUNT} times each")
        pattern = f"^Benchmark({'|'.join(names)})$"
        argv = ["go", "test", "-run=^$", f"-bench={pattern}", "-benchmem", "-benchtime=0.5s", f"-count={COUNT}", f"-cpu={cores}"]
        measured = parse(processes.command([*argv, f"./{package}"], env, f"timing {package}"), cores)
        found.update((f"{package}.{name}", values) for name, values in measured.items())
    content = {
        "machine": {"processor": processor(), "cores": cores, "system": f"{sys.platform} {platform.machine()}", "load before": round(busy, 2), "busy": busy >= BUSY},
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "Go": env[environment.TOOLCHAIN],
        "code": {k: v for k, v in provenance.version().items() if k != "changed"},
        "runs of each": COUNT,
        "benchmarks": found,
        durations.PART: durations.reference([path.stem for path in experiments()]),
    }
    write_atomic(provenance.TIMINGS, as_json(content).encode())
    for name, values in found.items():
        log.info(f"{name:<48} {values['ns/op']['median']:>14,.0f} ns/op, {values['ns/op']['lowest']:,.0f} at best")
    for line in limits(found):
        log.info(line)
    log.info(f"recorded in {provenance.TIMINGS.relative_to(ROOT)}")


def limits(found):
    """Lines that tell how far from this processor's peaks the benchmarks are that report their least work."""
    peaks = {unit: peak(found, name, unit) for unit, name in LEAST_WORK.items()}
    if None in peaks.values():
        return []
    lines = ["how far from the limit: the least time for the operations and for the bytes on one core, over the time taken"]
    for name, values in found.items():
        if all(unit in values for unit in LEAST_WORK):
            took = values["ns/op"]["lowest"]
            shares = [values[unit]["lowest"] / rate / took for unit, rate in peaks.items()]
            lines.append(f"{name:<48} {shares[0]:>8.1%} of the operations' peak, {shares[1]:>6.1%} of the memory's")
    return lines


def peak(found, name, unit):
    """The rate a nanosecond, None where it was not measured."""
    values = found.get(f"qpdiff/internal/dense.Peak/{name}", {})
    return values[unit]["highest"] / values["ns/op"]["lowest"] if unit in values else None


def parse(text, cores):
    """The median, the lowest and the highest of each benchmark's measures, by unit, and low and
    high, the ends of an interval that a single slow run does not widen."""
    suffix = f"-{cores}" if cores > 1 else ""
    runs = {}
    for name, rest in LINE.findall(text):
        words = rest.split()
        measures = runs.setdefault(name.removesuffix(suffix), {})
        for value, unit in zip(words[::2], words[1::2]):
            measures.setdefault(unit, []).append(float(value))
    return {name: {unit: summary(sorted(values)) for unit, values in measures.items()} for name, measures in runs.items()}


def summary(values):
    """What is recorded of sorted measures. An interval without the outermost two takes COUNT of them."""
    outer = 1 if len(values) >= COUNT else 0
    return {"median": statistics.median(values), "lowest": values[0], "highest": values[-1], "low": values[outer], "high": values[-1 - outer]}


def processor(cpuinfo="/proc/cpuinfo"):
    try:
        with open(cpuinfo) as f:
            return next(line.partition(":")[2].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
