#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What users pay for: a stock ImageFolder and DataLoader that decodes JPEG files
of about 110 KB, made from photographs, with a consumer of fixed speed in place
of an accelerator: how much of an epoch does it wait for data?

On emulated devices, cold, the dataset larger than memory: daemon, loader and
workers in one group, against loader and workers alone in such a group. The
consumer takes --share of what the workers can decode when everything is in
memory, which is measured first; so only the device can make it wait."""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand  # noqa: E402
import measure  # noqa: E402
import photo_data  # noqa: E402
from brand_runs import GroupMount, testbed  # noqa: E402

PYTHON = "/usr/bin/python3"
CLIENT = measure.HERE / "dataloader_epoch.py"
IMAGE = "4GiB"
LABELS = ("raw", "native", "brand", "packed")
COLUMNS = ("device", "what", "epoch", "faster than raw", "data stalls",
           "utilisation", "first batch after", "status: stalled / consumer",
           "peak memory", "bypass")

Result = collections.namedtuple(
    "Result", "seconds waited first busy stall consumer peak bypass")


class Photos:
    """The images on a device, and packed."""

    def __init__(self, images, photos):
        self.images, self.photos = images, photos
        self.device = testbed.Device(f"photos-{images}")
        self.root = self.device.path / "data"
        self.packed = self.device.path / "packed"

    def open(self):
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists():
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(testbed.parse_size(IMAGE))
        self.device.attach("fast")
        photo_data.write_tree(self.root, self.images, self.photos)
        os.sync()  # before it is read: what is dirty is laid out by readers
        subprocess.run([os.environ["SHUFFLECTL_BIN"], "pack", self.root,
                        self.packed], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        os.sync()
        done.touch()

    def bytes(self):
        return sum(path.stat().st_size for path in self.root.rglob("*.jpg"))


class Loader:
    """How the epochs are read."""

    def __init__(self, arguments):
        self.batch = arguments.batch
        self.workers = arguments.workers
        self.step = 0.0  # seconds a batch

    def run(self, root, epochs=1, wrap=list):
        done = subprocess.run(
            wrap([PYTHON, "-W", "ignore", CLIENT, root / "train", str(epochs),
                  str(self.batch), str(self.workers), str(self.step)]),
            text=True, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def calibrate(self, data, share):
        """Sets the consumer's speed; returns what can be decoded a second with
        everything in memory."""
        epoch = self.run(data.root, 2)[1]
        speed = epoch["images"] / epoch["seconds"]
        self.step = self.batch / (share * speed)
        return speed


def own_memory(data, loader, limit):
    """Peak of loader and workers over a part of the data that is small: all
    but the page cache of the data, about."""
    some = sorted(data.root.glob("train/*/*"))[:4 * loader.batch *
                                               loader.workers]
    with measure.folder() as folder:
        root = pathlib.Path(folder)
        for path in some:
            copy = root / path.relative_to(data.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path)
        for path in some:
            path.read_bytes()  # cached, and charged to nobody here
        with testbed.Group(f"dataloader-{os.getpid()}", limit) as group:
            loader.run(root, 1, group.inside)
            return group.peak()


def measure_once(data, loader, label, arguments):
    data.device.cold()
    with testbed.Group(f"dataloader-{os.getpid()}",
                       arguments.limit) as group:
        if label == "raw":
            epoch, = loader.run(data.root, 1, group.inside)
            view = {}
        else:
            epoch, view = through_mount(data, loader, label, arguments, group)
        peak = group.peak()
    if epoch["images"] != data.images:
        raise RuntimeError(f"{epoch['images']} images were read")
    bypass = view.get("bypass")
    return Result(epoch["seconds"], epoch["waited"], epoch["first"],
                  epoch["busy"], view.get("stall_seconds"),
                  view.get("consumer_seconds"), peak,
                  None if bypass is None else bypass / data.images)


def through_mount(data, loader, label, arguments, group):
    options = {key: str(value).format(memory=arguments.memory,
                                      packed=data.packed)
               for key, value in brand.POLICIES[label].options.items()}
    with measure.folder() as folder:
        with GroupMount(group, data.root, pathlib.Path(folder),
                        options) as mount:
            epoch, = loader.run(mount.path, 1, group.inside)
            view = mount.view()
            measure.say(view.get("supply", ""))
            return epoch, view


def print_row(profile, label, results, raw):
    def middle(get):
        values = [get(result) for result in results]
        return None if None in values else statistics.median(values)

    def cell(value, text):
        return "-" if value is None else text.format(value)

    epoch, spread = measure.median_mad([r.seconds for r in results])
    faster, mad = measure.median_mad(
        [r.seconds / own.seconds for r, own in zip(raw, results)])
    stall = middle(lambda r: r.stall)
    measure.row(
        profile, label, f"{epoch:.1f} ± {spread:.1f} s",
        "-" if label == "raw" else f"**{faster:.2f}x** ± {mad:.2f}",
        cell(middle(lambda r: r.waited / r.seconds), "{:.1%}"),
        cell(middle(lambda r: r.busy / r.seconds), "{:.1%}"),
        cell(middle(lambda r: r.first), "{:.2f} s"),
        "-" if stall is None else
        f"{stall:.1f} / {middle(lambda r: r.consumer) or 0:.1f} s",
        cell(middle(lambda r: r.peak and r.peak / 2**20), "{:.0f} MiB"),
        cell(middle(lambda r: r.bypass), "{:.1%}"))


def run_profile(profile, data, loader, arguments):
    data.device.attach(profile)
    results = {label: [] for label in LABELS}
    for _ in range(arguments.rounds):
        for label in LABELS:
            results[label].append(measure_once(data, loader, label, arguments))
            measure.say(f"{profile} {label}: {results[label][-1]}")
    for label in LABELS:
        print_row(profile, label, results[label], results["raw"])


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--photos", type=pathlib.Path,
                        default=photo_data.PHOTOS, metavar="FOLDER")
    parser.add_argument("--profile", action="append",
                        help="default hdd, nas")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.85,
                        help="of the decoding speed, that is consumed")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="160MiB", help="of the pool")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    testbed.require_root()
    measure.enter()
    data = Photos(arguments.images, arguments.photos)
    loader = Loader(arguments)
    try:
        data.open()
        speed = loader.calibrate(data, arguments.share)
        own = own_memory(data, loader, arguments.limit)
        print(f"\n{data.images:,} JPEG images, {data.bytes() / 1e6:.0f} MB; "
              f"batches of {loader.batch}, {loader.workers} workers; groups "
              f"of {arguments.limit}, memory={arguments.memory}; loader and "
              f"workers alone take {own / 2**20:.0f} MiB. From memory "
              f"{speed:.0f} images/s are decoded; the consumer takes "
              f"{loader.batch / loader.step:.0f} a second: "
              f"{data.images / loader.batch * loader.step:.1f} s an epoch if "
              f"it never waits. {arguments.rounds} rounds, medians:\n")
        measure.row(*COLUMNS)
        print("|---" * len(COLUMNS) + "|")
        for profile in arguments.profile or ["hdd", "nas"]:
            run_profile(profile, data, loader, arguments)
    except (testbed.DeviceError, testbed.GroupError, RuntimeError) as error:
        sys.exit(f"dataloader: {error}")
    finally:
        data.device.detach()


if __name__ == "__main__":
    main()
