# SPDX-License-Identifier: MIT
"""A Slurm of the tests' own: munged, slurmctld and one slurmd, as root, in a temporary folder, with ports of their own."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import harness

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "sinfo", "squeue")
PLUGIN = harness.BUILD / "lib/slurm/spank_flowtap.so"
PROLOG = harness.REPO / "client/slurm/task-prolog"

CONF = """\
ClusterName=flowtap
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmdPort={d_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/s
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
PlugStackConfig={folder}/plugstack.conf
ProctrackType=proctrack/{track}
JobAcctGatherType=jobacct_gather/{gather}
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=1
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def find(name):
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class EndedError(AssertionError):
    """One of its daemons is not there any more."""


class Slurm:
    def __init__(self, has_cgroups):
        harness.needs(os.geteuid() == 0, "Slurm's daemons need root")
        missing = [name for name in PROGRAMS if not find(name)]
        harness.needs(not missing, f"not installed: {', '.join(missing)}")
        harness.needs(PLUGIN.exists(), "the SPANK plugin is not built: slurm/spank.h was not there")
        self.has_cgroups, self.started, self.beside = has_cgroups, [], None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="flowtap-slurm-"))
        self.folder.chmod(0o755)
        for name in ("munge", "state", "spool", "lib/slurm"):
            (self.folder / name).mkdir(parents=True, mode=0o755)
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        # Where any user reaches them, as they stand to each other when installed.
        shutil.copy(PLUGIN, self.folder / "lib/slurm")
        shutil.copy(harness.PRELOAD, self.folder / "lib")
        shutil.copy(PROLOG, self.folder / "lib/slurm")
        self.library = self.folder / "lib" / harness.PRELOAD.name
        self.conf = self.folder / "slurm.conf"
        self.env = {"SLURM_CONF": str(self.conf)}

    def write_conf(self):
        ctld_port, d_port = free_ports(2)
        self.conf.write_text(CONF.format(
            host=socket.gethostname().split(".")[0], folder=self.folder, ctld_port=ctld_port, d_port=d_port,
            track="cgroup" if self.has_cgroups else "linuxproc", gather="cgroup" if self.has_cgroups else "none"))
        (self.folder / "cgroup.conf").write_text(self.cgroup_conf())
        self.plugstack("")

    def cgroup_conf(self):
        year = int(harness.call([find("slurmd"), "-V"]).stdout.split()[1].split(b".")[0])
        if not self.has_cgroups and year >= 23:
            return "CgroupPlugin=disabled\n"
        # slurmd looks for cgroups also where it does not use them.
        unified = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
        return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n" if unified else "CgroupPlugin=cgroup/v1\n"

    def plugstack(self, arguments):
        line = f"required {self.folder}/lib/slurm/{PLUGIN.name} {arguments}\n"
        (self.folder / "plugstack.conf").write_text(line)

    def spawn(self, name, *words):
        with open(self.folder / f"{name}.out", "ab") as out:
            process = subprocess.Popen([find(name), *map(str, words)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       env=harness.clean_environment(**self.env), start_new_session=True)
        self.started.append(process)
        return process

    def is_idle(self):
        for process in self.started:
            if process.poll() is not None:
                raise EndedError(f"{process.args[0]} ended by itself: {self.logs()}")
        done = self.call("sinfo", "-h", "-o", "%T")
        return done.returncode == 0 and done.stdout.strip() == b"idle"

    def start(self):
        self.write_conf()
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = self.folder / "munge"
        self.spawn("munged", "-F", "--force", f"--key-file={key}", f"--socket={munge}/s", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--num-threads=2")
        harness.wait_until("munged's socket", (munge / "s").exists)
        self.spawn("slurmctld", "-D", "-c")
        self.spawn("slurmd", "-D", "-f", self.conf)
        try:
            harness.wait_until("the node to be idle", self.is_idle)
        except AssertionError as error:
            raise AssertionError(f"Slurm is installed and does not start: {error}\n{self.logs()}") from None
        return self

    def logs(self):
        """The end of what each daemon told."""
        paths = [*sorted(self.folder.glob("slurm*.log")), *sorted(self.folder.glob("*.out")), self.folder / "munge/log"]
        told = [(path.name, path.read_text(errors="replace").splitlines()[-30:]) for path in paths if path.exists()]
        return "\n".join(f"--- {name}\n" + "\n".join(lines) for name, lines in told if lines)

    def call(self, command, *words, env=None, **options):
        options.setdefault("cwd", "/")
        return harness.call([command, *words], env=harness.clean_environment(**self.env, **(env or {})), **options)

    def launch(self, command, *words, env=None, **options):
        return subprocess.Popen([command, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd="/", start_new_session=True,
                                env=harness.clean_environment(**self.env, **(env or {})), **options)

    def jobs(self):
        """Those that there are, but for one that runs beside all tests."""
        return [job for job in self.call("squeue", "-h", "-o", "%i").stdout.split() if job != self.beside]

    def stop(self):
        try:
            if len(self.started) == 3 and all(process.poll() is None for process in self.started):
                self.beside = None
                for job in self.jobs():
                    done = self.call("scancel", job.decode())
                    assert done.returncode == 0 or job not in self.jobs(), done.stderr
                harness.wait_until("all jobs to end", lambda: not self.jobs())
        finally:
            for process in reversed(self.started):
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    harness.end_group(process)
            shutil.rmtree(self.folder, ignore_errors=True)
