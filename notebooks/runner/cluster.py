"""A Slurm on the loopback interface for tests: nodes of one core each, in a private folder."""

import atexit
import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("go", "munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo", "unshare")
PATHS = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"

# Slurm's daemons listen at the address of the machine's name (NoInAddrAny) or at all. They
# see another name, whose address is that of the loopback interface.
OWN_NAME = ("unshare", "--uts", "sh", "-c", 'echo localhost >/proc/sys/kernel/hostname && exec "$@"', "sh")

CONF = """ClusterName=cvgm
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/completed
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
SlurmdTimeout=10
MaxArraySize=10
JobRequeue=1
KillWait=2
"""


def absent():
    """The reason why no Slurm can be started here, or None."""
    missing = [p for p in PROGRAMS if not any(os.access(f"{d}/{p}", os.X_OK) for d in PATHS.split(":"))]
    if missing:
        return f"{', '.join(missing)} not found (Slurm on Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "slurmd requires root"
    return None


def free_ports(n):
    """Ports below those that Linux gives to connections, one of which might take them before a daemon listens."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = set()
    while len(ports) < n:
        port = random.randrange(first // 2, first)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            ports.add(port)
    return ports


def wait_for(condition, what, most=300.0):
    """Waits until condition() is true, and returns its value."""
    end = time.monotonic() + most
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"after {most:.0f} s: {what}")
        time.sleep(0.1)
    return value


def processes_of():
    """All processes as {id: (parent, command line)}."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(path.name)] = parent, (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue
    return found


class Cluster:
    """munged, slurmctld and a slurmd for each node, as children of this process."""

    def __init__(self, folder, nodes=("n1", "n2")):
        self.folder, self.nodes, self.running = Path(folder), nodes, {}
        for name in ("munge", "state", *nodes):
            (self.folder / name).mkdir(mode=0o755)
        self.folder.chmod(0o755)  # munged refuses a socket below a folder of mode 0700
        key = self.folder / "key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        port, *ports = free_ports(1 + len(nodes))
        self.conf = self.folder / "slurm.conf"
        text = CONF.format(folder=self.folder, port=port)
        for name, own in zip(nodes, ports):
            text += f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={own} CPUs=1 State=UNKNOWN\n"
        text += f"PartitionName=all Nodes={','.join(nodes)} Default=YES MaxTime=INFINITE State=UP\n"
        self.conf.write_text(text)
        self.env = os.environ | {"SLURM_CONF": str(self.conf), "PATH": PATHS}

    def __enter__(self):
        atexit.register(self.__exit__)
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(s, signal.default_int_handler)  # so that what is started here ends with this process
        f = self.folder
        try:
            files = [f"--{name}-file={f}/munged.{name}" for name in ("pid", "log", "seed")]
            self.launch("munged", "munged", "--foreground", f"--socket={f}/munge/socket", f"--key-file={f}/key", *files)
            wait_for((f / "munge" / "socket").exists, "munged has no socket")
            self.launch("slurmctld", *OWN_NAME, "slurmctld", "-D", "-f", str(self.conf))
            for name in self.nodes:
                self.start(name)
            wait_for(self.idle, "the nodes are not idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def launch(self, name, *argv):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.running[name] = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def start(self, node):
        self.launch(node, *OWN_NAME, "slurmd", "-D", "-N", node, "-f", str(self.conf))

    def run(self, *argv, **options):
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=300, **options)

    def idle(self):
        states = self.run("sinfo", "-h", "-N", "-o", "%T").stdout.split()
        return len(states) == len(self.nodes) and all(s == "idle" for s in states)

    def kill(self, node, orphan=False):
        """Ends a node as a power cut does; with orphan its jobs live on, as where only the network is cut."""
        steps = self.job_processes(node)
        daemon = self.running.pop(node)
        daemon.kill()
        daemon.wait()
        if not orphan:
            for pid in steps:
                end(pid)
        return steps

    def job_processes(self, node):
        """The processes of the jobs on a node, found by the node's name in their environment."""
        mark = f"SLURMD_NODENAME={node}\0".encode()
        own = f"SLURM_CONF={self.conf}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                environ = (path / "environ").read_bytes()
            except OSError:
                continue
            if mark in environ and own in environ:
                found.append(int(path.name))
        parents = [processes_of().get(p, (0, ""))[0] for p in found]
        steps = [p for p in parents if "slurmstepd" in processes_of().get(p, (0, ""))[1]]
        return sorted({*found, *steps})

    def listening(self):
        """The addresses at which the daemons and all that they started listen, as /proc/net/tcp has them."""
        all_processes = processes_of()
        own = {p.pid for p in self.running.values()}
        while more := {pid for pid, (parent, _) in all_processes.items() if parent in own} - own:
            own |= more
        sockets = set()
        for pid in own:
            with contextlib.suppress(OSError):
                sockets |= {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
        rows = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
        return sorted(row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets)

    def __exit__(self, *_):
        for job in self.run("squeue", "-h", "-o", "%A").stdout.split() if "slurmctld" in self.running else []:
            self.run("scancel", job)
        left = [p for node in self.nodes for p in self.job_processes(node)]
        for name in [*self.nodes, "slurmctld", "munged"]:
            if process := self.running.pop(name, None):
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for pid in left:
            end(pid)


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
