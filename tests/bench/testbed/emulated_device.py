# SPDX-License-Identifier: Apache-2.0
"""Block devices with the timing of another device, each with an ext4.

An image file stands below a loop device in direct-io mode, either directly
(profile `fast`) or through slowdev, which answers reads when the modelled
device would have. Everything of a device lies in a folder of its own:

    image        what the device stores, sparse
    mnt/         where its file system is mounted
    slow/        where slowdev shows the image as `disk`
    state.json   what is attached: profile, loop device, its backing file
    lock         held while a Device object that uses it exists

Nothing else is touched: a loop device is detached only while the kernel says
that it is backed by our file, and slowdev ends by being unmounted.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILT = REPOSITORY / "build/release/tests/bench/testbed/slowdev"
READ_AHEAD_KB = 128  # the default of Linux; loop devices come with more

# What slowdev is told; nothing for a plain loop device. README.md has what
# each of them reaches.
PROFILES = {
    "hdd": ["--model=disk", "--mb-per-second=160", "--seek-min-us=1000",
            "--seek-max-us=6000", "--rotation-us=8333"],
    "hdd600": ["--model=disk", "--mb-per-second=160", "--seek-min-us=300",
               "--seek-max-us=900", "--rotation-us=1800"],
    "nas": ["--model=network", "--mb-per-second=380", "--latency-us=3000",
            "--jitter-us=1000", "--parallel=64"],
    # One server of several nodes.
    "nas40": ["--model=network", "--mb-per-second=40", "--latency-us=3000",
              "--jitter-us=1000", "--parallel=64"],
    "fast": [],
}


def rotational(profile):
    """What the kernel is to say of a device of the profile."""
    return "1" if "--model=disk" in PROFILES[profile] else "0"


class DeviceError(RuntimeError):
    pass


def base():
    return pathlib.Path(os.environ.get(
        "BENCH_DIR", "/var/tmp/shufflefs-bench")) / "testbed"


def slowdev():
    path = pathlib.Path(os.environ.get("SLOWDEV_BIN", BUILT))
    if not os.access(path, os.X_OK):
        raise DeviceError(f"{path}: not built; cmake --preset release && "
                          "cmake --build --preset release --target slowdev")
    return path


def run(*argv):
    """Output of a command that must succeed."""
    done = subprocess.run([str(word) for word in argv], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise DeviceError(f"{' '.join(map(str, argv))}: "
                          f"{done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise DeviceError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def mounted(path):
    return str(path) in (line.split()[4]
                         for line in open("/proc/self/mountinfo"))


def alive(pid):
    """Whether the process runs: one that ended and was not waited for yet
    does not."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


def all_devices():
    return sorted(path.parent.name for path in base().glob("*/state.json"))


class Device:
    """A device by its name. Holds its lock as long as the object exists."""

    def __init__(self, name):
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
            raise DeviceError(f"{name}: not a name for a device")
        self.name = name
        self.folder = base() / name
        self.image = self.folder / "image"
        self.path = self.folder / "mnt"
        self.slow = self.folder / "slow"
        self._state_path = self.folder / "state.json"
        self._lock = None
        if self.exists():
            self._take_lock()

    def _take_lock(self):
        self._lock = open(self.folder / "lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DeviceError(f"{self.name}: in use by another process") from None

    def exists(self):
        return self._state_path.exists()

    def state(self):
        if not self.exists():
            raise DeviceError(f"{self.name}: no such device")
        return json.loads(self._state_path.read_text())

    def _save(self, **state):
        new = self._state_path.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(self._state_path)

    def create(self, size, used=None, mkfs=()):
        """An empty file system of `size` bytes, not attached. The image is
        sparse: `used` is how many of them will be written, by default all.
        `mkfs` are further arguments of mkfs.ext4."""
        if self.exists():
            raise DeviceError(f"{self.name}: the device exists")
        for folder in (self.folder, self.path, self.slow):
            folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.folder).free
        needed = size if used is None else used
        if free < needed:
            raise DeviceError(f"{self.folder}: {free >> 20} MiB are free, "
                              f"{needed >> 20} MiB are needed")
        self._take_lock()
        self._save()
        try:
            with open(self.image, "wb") as image:
                image.truncate(size)
            run("mkfs.ext4", "-q", "-m", "0", "-E",
                "lazy_itable_init=0,lazy_journal_init=0,nodiscard", *mkfs,
                self.image)
        except BaseException:
            self.destroy()
            raise

    def attach(self, profile):
        """Detaches, and attaches the same image with another timing."""
        if profile not in PROFILES:
            raise DeviceError(f"{profile}: not one of {', '.join(PROFILES)}")
        self.detach()
        with contextlib.ExitStack() as undo:
            undo.callback(self.detach)
            backing, pid = self.image, None
            if PROFILES[profile]:
                backing, pid = self._start_slowdev(PROFILES[profile])
            loop = run("losetup", "--find", "--show", "--direct-io=on", backing)
            stat = os.stat(backing)
            self._save(profile=profile, loop=loop, slowdev=pid,
                       backing=[stat.st_dev, stat.st_ino])
            self._tune(loop, profile)
            run("mount", "-o", "noatime", loop, self.path)
            undo.pop_all()
        return self.path

    def _start_slowdev(self, options):
        log = self.folder / "slowdev.log"
        with open(log, "wb") as out:
            process = subprocess.Popen(
                [slowdev(), *options, self.image, self.slow],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True)

        def serves():
            if process.poll() is not None:
                raise DeviceError(f"slowdev: {log.read_text().strip()}")
            return mounted(self.slow)

        until(serves, "slowdev")
        return self.slow / "disk", process.pid

    @staticmethod
    def _tune(loop, profile):
        block = pathlib.Path("/sys/block") / pathlib.Path(loop).name
        if (block / "loop/dio").read_text().strip() != "1":
            raise DeviceError(f"{loop}: no direct I/O below, so everything "
                              "would be cached twice")
        (block / "queue/read_ahead_kb").write_text(str(READ_AHEAD_KB))
        (block / "queue/rotational").write_text(rotational(profile))

    def _loop(self):
        """The loop device, if it is still backed by our file, or None."""
        state = self.state()
        if "loop" not in state:
            return None
        text = run("losetup", "--list", "--json", "--output",
                   "NAME,BACK-INO,BACK-MAJ:MIN")
        for entry in json.loads(text)["loopdevices"] if text else []:
            major, minor = map(int, entry["back-maj:min"].split(":"))
            if (entry["name"] == state["loop"] and
                    [os.makedev(major, minor), int(entry["back-ino"])] ==
                    state["backing"]):
                return entry["name"]
        return None

    def detach(self):
        """Undoes attach(), as far as it got, also that of a process that was
        killed. What is written is on the image then."""
        state = self.state()
        if mounted(self.path):
            self.unmount()
        if self._loop() is not None:
            run("losetup", "--detach", self._loop())
            until(lambda: self._loop() is None, f"{self.name}: detaching")
        if mounted(self.slow):
            run("umount", self.slow)
        if state.get("slowdev"):
            until(lambda: not alive(state["slowdev"]), "slowdev ends")
        self._save()

    def unmount(self):
        """For a moment after its last user has ended it may be busy still."""
        end = time.monotonic() + 10
        while True:
            try:
                run("umount", self.path)
                return
            except DeviceError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def cold(self):
        """Unmounts and mounts: its pages, dentries and inodes are forgotten,
        and nobody else's."""
        loop = self._loop()
        if loop is None:
            raise DeviceError(f"{self.name}: not attached")
        if mounted(self.path):
            self.unmount()
        run("mount", "-o", "noatime", loop, self.path)

    def counters(self):
        """(requests, bytes) read from the device so far: use differences."""
        loop = self._loop()
        if loop is None:
            raise DeviceError(f"{self.name}: not attached")
        stat = pathlib.Path("/sys/block", pathlib.Path(loop).name,
                            "stat").read_text().split()
        return int(stat[0]), int(stat[2]) * 512

    def model_counters(self):
        """What slowdev counts, as text; empty for a plain loop device."""
        return (self.slow / "stats").read_text() if mounted(self.slow) else ""

    def destroy(self):
        self.detach()
        for name in ("image", "slowdev.log", "lock", "state.json"):
            (self.folder / name).unlink(missing_ok=True)
        for folder in (self.path, self.slow, self.folder):
            folder.rmdir()
        self._lock.close()
        with contextlib.suppress(OSError):
            base().rmdir()  # the last one takes the folder along
