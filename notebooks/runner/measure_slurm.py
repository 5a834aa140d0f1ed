"""Measures sweeps on a real Slurm of two nodes with one core each, on the loopback interface.

python3 -I notebooks/runner/measure_slurm.py [CELLS]

Run it on a quiet machine with two cores or more; the load is printed first. With 600
cells, the default, it takes some four minutes.
"""

import argparse
import base64
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cluster
import slurm
from checkout import ROOT

KEY = "0123456789abcdef" * 4
NAME = "elastic_net_seeds"
STEPS = 2000  # with which a cell takes 0.1 s or more
STARTS = 9  # of a worker, whose median is printed


def moment(text):
    """A time as Go writes it, with up to nine decimal places, in seconds."""
    head, fraction, zone = re.fullmatch(r"([^.Z+]+T[^.Z+-]+)(\.\d+)?(.*)", text).groups()
    return datetime.datetime.fromisoformat(head + zone.replace("Z", "+00:00")).timestamp() + float(fraction or 0)


def span(ended):
    """The start of the first cell and the end of the last one."""
    return min(moment(e["First"]) for e in ended), max(moment(e["Last"]) for e in ended)


class Measured:
    """A sweep's times and files."""

    def __init__(self, nodes, folder, worker, cells, shards):
        store = Path(tempfile.mkdtemp(dir=folder))
        wanted = {KEY: {"Name": NAME, "Params": {"Seeds": cells, "LongSteps": STEPS}, "Key": KEY}}
        cluster.wait_for(nodes.idle, "the nodes are not idle")
        began = time.time()
        sweep = slurm.submit(wanted, types.SimpleNamespace(shards=shards, throttle=None, sbatch=""), worker, store)
        submitted = time.time()
        nodes.run("scontrol", "hold", sweep.jobs["gather"])
        cluster.wait_for(lambda: not slurm.alive(sweep.elements(), sweep.jobs["array"]), "the array does not end", 3600)
        ended = sweep.count()["Sweeps"][0]["Ended"]
        records = list(records_of(store))
        self.bytes, self.files = sum(p.stat().st_size for p in records) / cells, len(records)
        self.logs = len(list(sweep.folder.iterdir()))
        released = time.time()
        nodes.run("scontrol", "release", sweep.jobs["gather"])
        slurm.finish(sweep, slurm.follow(sweep, 0.2))
        self.gathering = time.time() - released
        first, last = span(ended)
        self.submitting, self.starting, self.seconds = submitted - began, first - submitted, last - first
        self.result = next(p for p in store.iterdir() if p.is_file()).read_bytes()


def records_of(store):
    return next(store.glob("*.shards")).iterdir()


def local(folder, worker, cells):
    """Seconds from the first cell's start to the last one's end of one process without Slurm, and its result."""
    store = Path(tempfile.mkdtemp(dir=folder))
    argv = [str(worker), "-name", NAME, "-params", json.dumps({"Seeds": cells, "LongSteps": STEPS}), "-key", KEY, "-out", str(store)]
    env = os.environ | {"GOMAXPROCS": "1"}
    began = time.time()
    subprocess.run(argv, check=True, env=env)
    first, last = span(list(ends(store)))
    subprocess.run([*argv, "-gather"], check=True, env=env)
    return last - first, first - began, next(p for p in store.iterdir() if p.is_file()).read_bytes()


def ends(store):
    """What the workers wrote at their ends, from the records themselves."""
    for path in records_of(store):
        for line in path.read_text().splitlines():
            kind, _, _, payload = line.split(" ")
            if kind == "end":
                yield json.loads(base64.b64decode(payload))


def main(cells):
    if reason := cluster.absent():
        sys.exit(f"no Slurm: {reason}")
    with tempfile.TemporaryDirectory(prefix="cvgm-slurm-", dir="/tmp") as own:
        folder = Path(own)
        folder.chmod(0o755)
        (folder / "cluster").mkdir()
        slurm.FOLDER = folder / "submissions"
        slurm.FOLDER.mkdir()
        worker = folder / "worker"
        command = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(worker), "./notebooks/worker"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"CGO_ENABLED": "0"}, check=True)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f} before the start; {cells} cells", flush=True)
        with cluster.Cluster(folder / "cluster") as nodes:
            os.environ |= {"SLURM_CONF": str(nodes.conf), "PATH": nodes.env["PATH"]}
            starts = [local(folder, worker, 1)[1] for _ in range(STARTS)]
            print(f"exec to first cell: median {statistics.median(starts):.3f} s, at most {max(starts):.3f} s of {STARTS}", flush=True)
            alone, _, expected = local(folder, worker, cells)
            print(f"local, one process: {alone:.1f} s, {alone / cells:.4f} s a cell", flush=True)
            one = Measured(nodes, folder, worker, cells, 1)
            report("one node", one, cells)
            print(f"  overhead against local: {(one.seconds - alone) / cells * 1e3:+.2f} ms a cell", flush=True)
            two = Measured(nodes, folder, worker, cells, 2)
            report("two nodes", two, cells)
            print(f"  {one.seconds / two.seconds:.3f} × one node")
            same = expected == one.result == two.result
            print("the three results have " + ("the same bytes" if same else "OTHER BYTES"))
            return 0 if same else 1


def report(title, m, cells):
    print(
        f"{title}: {m.seconds:.1f} s from the first cell's start to the last one's end, {m.seconds / cells:.4f} s a cell; submit {m.submitting:.1f} s, "
        f"then {m.starting:.1f} s to the first cell; gather {m.gathering:.1f} s; {m.bytes:.0f} bytes a cell in {m.files} files, {m.logs} files beside the plan",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="?", type=int, default=600, metavar="CELLS", help="the number of cells of the sweep; 600 unless set")
    sys.exit(main(parser.parse_args().cells))
