# SPDX-License-Identifier: MIT
"""A machine with a real systemd: a tree of this system's own release (debootstrap), booted with systemd-nspawn.

The tree is made once and kept in build/booted; a machine sees it through an overlay in memory, so that each boot is a first
one and two may run at a time. It has a cgroup2 hierarchy whatever this system has, and no network.
"""

import contextlib
import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import harness

KEPT = harness.REPO / "build/booted"
PACKAGES = ("systemd", "systemd-sysv", "dbus")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAKE_S = 900
BOOT_S = 180
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000  # linux/ptrace.h, linux/wait.h

# The mounts are the shell's alone, and end with it. Its cgroup is one below ours: systemd-nspawn makes two in that.
START = r"""
set -eu
tree=$1 place=$2 cgroup=$3; shift 3
mount --make-rprivate /
[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || { umount -R /sys/fs/cgroup 2>/dev/null || :; mount -t cgroup2 none /sys/fs/cgroup; }
mkdir -p "/sys/fs/cgroup$cgroup"
echo $$ >"/sys/fs/cgroup$cgroup/cgroup.procs"
mount -t tmpfs -o mode=755 none "$place"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay -o "lowerdir=$tree,upperdir=$place/upper,workdir=$place/work" none "$place/root"
exec systemd-nspawn --quiet --directory="$place/root" --register=no --keep-unit --link-journal=no --private-network \
    --resolv-conf=off --timezone=off --console=pipe "$@"
"""
# Its processes are gone; its cgroups would stay.
END = r"""
mount --make-rprivate /
[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || { umount -R /sys/fs/cgroup 2>/dev/null || :; mount -t cgroup2 none /sys/fs/cgroup; }
find "/sys/fs/cgroup$1" -depth -type d -exec rmdir {} +
"""


def apt(*words):
    done = harness.call(["apt-config" if words[0] == "shell" else "apt-get", *words])
    return done.stdout.decode() if done.returncode == 0 else ""


def release():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', text, re.M)
    return found[1] if found else ""


def mirror(suite):
    """Where this system has its own packages from."""
    listed = apt("indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    for line in listed.splitlines():
        codename, component, uri = (line.split(" ", 2) + ["", ""])[:3]
        if codename == suite and component == "main":
            return uri
    return ""


def proxy():
    """What apt goes through, for who does not ask apt."""
    found = {}
    for scheme in ("http", "https"):
        text = apt("shell", "P", f"Acquire::{scheme}::Proxy")
        if "'" in text:
            found[f"{scheme}_proxy"] = text.split("'")[1]
    return found


def library_packages(*programs):
    """What the programs are linked with, by the names of the packages here."""
    needed = set()
    for program in programs:
        for path in re.findall(r"=> (/\S+)", harness.call(["ldd", program]).stdout.decode()):
            # By the name that the package has it under: with /usr, or without.
            owner = harness.call(["dpkg-query", "-S", path, f"/usr{path}", path.removeprefix("/usr")]).stdout.decode()
            needed |= {line.split(":", 1)[0] for line in owner.splitlines()}
    return needed


def make_tree(packages=PACKAGES):
    """The tree with these packages, made where it is not there yet; skips where it cannot be had."""
    suite = release()
    wanted = sorted({*packages, *library_packages(harness.FLOWTAP, harness.FLOWTAPD)})
    name = f"{suite}-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:12]}"
    tree = KEPT / name
    if tree.is_dir():
        return tree
    uri = mirror(suite)
    harness.needs(uri, f"apt does not say where the packages of {suite or 'this system'} are")
    KEPT.mkdir(parents=True, exist_ok=True)
    part = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}.part-", dir=KEPT))
    os.chmod(part, 0o755)
    # It is made anew where anything goes wrong: nothing has to reach the disk before its time.
    env = harness.clean_environment(PATH=PATH, DPKG_FORCE="unsafe-io", DEBIAN_FRONTEND="noninteractive", **proxy())
    done = harness.call(["debootstrap", "--variant=minbase", f"--include={','.join(wanted)}", suite, part, uri], env=env,
                        deadline=MAKE_S)
    if done.returncode != 0:
        shutil.rmtree(part, ignore_errors=True)
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        harness.needs(False, f"debootstrap made no tree of {suite}: {said[-1] if said else done.returncode}")
    shutil.rmtree(part / "var/cache/apt", ignore_errors=True)
    with contextlib.suppress(OSError):  # another one was faster
        part.rename(tree)
    shutil.rmtree(part, ignore_errors=True)
    return tree


def own_cgroup():
    """A cgroup below ours in the hierarchy of cgroup2, that is not there yet."""
    own = re.search(r"^0::(.*)$", pathlib.Path("/proc/self/cgroup").read_text(encoding="ascii"), re.M)
    return f"{own[1].rstrip('/') if own else ''}/flowtap-test-{uuid.uuid4().hex[:8]}"


def start_words(tree, place, cgroup, *words):
    return ["unshare", "--mount", "bash", "-c", START, "start", tree, place, cgroup, *words]


def forget_cgroup(cgroup):
    harness.call(["unshare", "--mount", "bash", "-c", END, "end", cgroup])


class Machine:
    """One boot. Commands run in it as root by nsenter, or as a unit of their own by systemd-run."""

    def __init__(self, tree, binds=()):
        needs_containers(tree)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="flowtap-machine-"))
        self.console = pathlib.Path(f"{self.place}.log")
        self.leader = None
        self.units = 0
        self.cgroup = own_cgroup()
        words = ["--boot", "--notify-ready=yes", *(f"--bind-ro={source}:{target}" for source, target in binds)]
        words += [f"--machine={self.cgroup.rsplit('/', 1)[1]}", f"--uuid={uuid.uuid4().hex}"]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, open(self.console, "wb") as log:
            address = f"{self.place}.notify"
            notify.bind(address)
            self.process = subprocess.Popen(
                start_words(tree, self.place, self.cgroup, *words),
                env=harness.clean_environment(PATH=PATH, NOTIFY_SOCKET=address), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)
            try:
                self._wait_booted(notify)
            except BaseException:
                self.end()
                raise
            finally:
                os.unlink(address)

    def _wait_booted(self, notify):
        end = time.monotonic() + BOOT_S
        notify.settimeout(0.2)
        while time.monotonic() < end:
            assert self.process.poll() is None, f"the machine does not boot: {self.log()}"
            try:
                text = notify.recv(65536).decode()
            except TimeoutError:
                continue
            if found := re.search(r"^X_NSPAWN_LEADER_PID=(\d+)$", text, re.M):
                self.leader = int(found[1])
            if re.search(r"^READY=1$", text, re.M):
                return
        raise AssertionError(f"no machine in {BOOT_S} s: {self.log()}")

    def log(self):
        return self.console.read_text(errors="replace")[-4000:]

    def path(self, inside):
        """A path of the machine, from here."""
        return pathlib.Path(f"/proc/{self.leader}/root") / str(inside).lstrip("/")

    def _enter(self, argv):
        return ["nsenter", "-t", str(self.leader), "-a", "--", *map(str, argv)]

    def call(self, *argv, check=True, **options):
        """As root."""
        options.setdefault("env", {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/root"})
        options.setdefault("deadline", 2 * harness.DEADLINE_S)
        done = harness.call(self._enter(argv), cwd="/", **options)
        assert not check or done.returncode == 0, (argv, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done

    def text(self, *argv, **options):
        return self.call(*argv, **options).stdout.decode().strip()

    def journal(self, *words):
        """What journalctl prints, with all that was said until now."""
        self.call("journalctl", "--sync")
        return self.text("journalctl", *words)

    def _unit(self, argv, user, env, properties, name):
        words = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", f"--unit={name}", "--working-directory=/tmp"]
        words += [f"--setenv={key}={value}" for key, value in (env or {}).items()]
        words += [f"--property={one}" for one in properties]
        return [*words, *([f"--uid={user}"] if user else []), "--", *argv]

    def run(self, *argv, user=None, env=None, properties=(), check=True, **options):
        """As a unit of its own, to its end."""
        self.units += 1
        return self.call(*self._unit(argv, user, env, properties, f"test-{self.units}"), check=check, **options)

    def spawn(self, *argv, user=None, env=None, properties=(), name):
        """As a unit `name` that goes on; its stdout is the Popen's."""
        command = self._enter(self._unit(argv, user, env, properties, name))
        return subprocess.Popen(command, cwd="/", env={"PATH": PATH}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                start_new_session=True)

    def outer_pid(self, pid):
        """As it is numbered here: a child of the machine's first process."""
        for child in pathlib.Path(f"/proc/{self.leader}/task/{self.leader}/children").read_text().split():
            if re.search(rf"^NSpid:.*\s{pid}$", pathlib.Path(f"/proc/{child}/status").read_text(), re.M):
                return int(child)
        raise AssertionError(f"{pid} is no child of the first process")

    @contextlib.contextmanager
    def held_thread(self, pid):
        """The first thread of that process stands still, its others go on."""
        ptrace, outer = ctypes.CDLL(None, use_errno=True).ptrace, self.outer_pid(pid)
        ptrace.argtypes = [ctypes.c_long] * 4
        assert ptrace(PTRACE_SEIZE, outer, 0, 0) == 0 and ptrace(PTRACE_INTERRUPT, outer, 0, 0) == 0, os.strerror(ctypes.get_errno())
        os.waitpid(outer, WALL)
        try:
            yield
        finally:
            if ptrace(PTRACE_DETACH, outer, 0, 0) < 0:
                os.waitpid(outer, WALL)  # it has died: its parent is told behind us

    def show(self, unit, key):
        return self.text("systemctl", "show", "--value", "-p", key, unit)

    def copy(self, source):
        """Lays a folder's content over the root."""
        done = harness.call(["cp", "-a", "--no-preserve=ownership", f"{source}/.", self.path("/")])
        assert done.returncode == 0, done.stderr

    def end(self):
        """Powers off; what does not end is killed with its leader."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                harness.end_group(self.process)
        if self.leader:
            harness.wait_until("the end of its processes", lambda: not os.path.exists(f"/proc/{self.leader}/exe"), 30)
        forget_cgroup(self.cgroup)
        self.place.rmdir()
        self.console.unlink()


def install(staged):
    """`make install` of what is built, into that folder."""
    environment = {k: v for k, v in harness.clean_environment().items() if not k.startswith(("MAKE", "MFLAGS"))}
    made = harness.call(["make", "-s", f"O={os.path.relpath(harness.BUILD, harness.REPO)}", "install", f"DESTDIR={staged}",
                         "PREFIX=/usr"], cwd=harness.REPO, env=environment, deadline=300)
    assert made.returncode == 0, made.stderr.decode()


@contextlib.contextmanager
def installed(folder):
    """A machine with Flowtap installed; what is built lies at /flowtap, too. `folder`: a temporary one."""
    needs_machine()
    install(folder / "root")
    one = Machine(make_tree(), binds=[(harness.BUILD, "/flowtap")])
    try:
        one.copy(folder / "root")
        yield one
    finally:
        one.end()


def begin_service(machine):
    """What the guide in README.md says after `make install`."""
    guide = (harness.REPO / "README.md").read_text(encoding="utf-8")
    machine.call("sh", "-euc", re.search(r"^```sh\nmake install PREFIX=/usr .*?\n(.*?)^```$", guide, re.M | re.S)[1])


def add_user(machine, name):
    machine.call("useradd", "--create-home", "--shell", "/bin/bash", name)


def needs_containers(tree):
    """Skips where not even one program can be started in the tree; what comes after that is to work."""
    place, cgroup = tempfile.mkdtemp(prefix="flowtap-machine-"), own_cgroup()
    done = harness.call(start_words(tree, place, cgroup, "--machine=flowtap-probe", "--as-pid2", "/bin/true"),
                        env=harness.clean_environment(PATH=PATH))
    forget_cgroup(cgroup)
    os.rmdir(place)
    said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    harness.needs(done.returncode == 0, f"no container runs here: {said[-1] if said else done.returncode}")


def needs_machine():
    """Skips where no machine can be had, with the reason."""
    harness.needs(os.geteuid() == 0, "booting a machine needs root")
    for name in ("debootstrap", "systemd-nspawn", "nsenter", "unshare"):
        harness.needs_program(name)
    done = harness.call(["unshare", "--mount", "--cgroup", "--pid", "--fork", "true"])
    harness.needs(done.returncode == 0, f"no name spaces can be made here: {done.stderr.decode().strip()}")
