#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a tree epoch by epoch in workers of Ray, dask or celery.

  executors.py HOW ROOT FOLDER WORKERS EPOCHS

HOW is one of WAYS below. Each epoch has an order of its own, which is dealt to
the workers. Prints a line of JSON when all is read: `version` of the executor,
`epochs` ([name, digest] of each item), and `workers`, the processes that read.
Runs in a Python that has the executor. FOLDER is for files of the executor.
EXECUTORS_WORK is how long a worker works on an item, 0.002 seconds.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from typing import Any, Callable, Iterator

Share = dict[str, Any]  # "items", and "worker", the process that read them
# Reads the shares of an epoch, one a worker.
ReadShares = Callable[[list[list[str]]], list[Share]]

# Seconds for an epoch.
LIMIT = 120 * float(os.environ.get("SHUFFLEFS_TEST_SLOWDOWN", "1"))
WORK = float(os.environ.get("EXECUTORS_WORK", "0.002"))  # seconds an item


def facts_of(pid: int) -> dict[str, Any]:
    """What decides to which job a process belongs."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    _, parent, group = fields.split()[:3]
    return {"pid": pid, "group": int(group), "parent": int(parent),
            "executable": os.readlink(f"/proc/{pid}/exe"),
            "parent_name": pathlib.Path(
                f"/proc/{parent}/comm").read_text().strip()}


def read_share(root: str, names: list[str]) -> Share:
    items = []
    for name in names:
        time.sleep(WORK)
        content = pathlib.Path(root, name).read_bytes()
        items.append([name, hashlib.sha256(content).hexdigest()[:16]])
    return {"items": items, "worker": facts_of(os.getpid())}


# --- Ray ---

@contextlib.contextmanager
def ray_session(folder: str, workers: int) -> Iterator[Any]:
    import ray
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False,
             _temp_dir=f"{folder}/ray", object_store_memory=100 << 20)
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def ray_tasks(root: str, folder: str, workers: int) -> Iterator[ReadShares]:
    with ray_session(folder, workers) as ray:
        task = ray.remote(num_cpus=1)(read_share)
        yield lambda shares: ray.get(
            [task.remote(root, share) for share in shares], timeout=LIMIT)


class Reader:
    """A reader that lives for all epochs."""

    def ready(self) -> bool:
        return True

    def read(self, root: str, names: list[str]) -> Share:
        return read_share(root, names)


def start_actors(ray: Any, workers: int, wait: bool = True) -> list[Any]:
    actor = ray.remote(num_cpus=1)(Reader)
    readers = [actor.remote() for _ in range(workers)]
    if wait:
        ray.get([reader.ready.remote() for reader in readers], timeout=LIMIT)
    return readers


def read_by_actors(ray: Any, readers: list[Any], root: str,
                   shares: list[list[str]]) -> list[Share]:
    return ray.get([reader.read.remote(root, share)
                    for reader, share in zip(readers, shares)], timeout=LIMIT)


def ray_actors(wait: bool) -> Any:
    """Without wait, who starts first has read its share when others start."""
    @contextlib.contextmanager
    def session(root: str, folder: str, workers: int) -> Iterator[ReadShares]:
        with ray_session(folder, workers) as ray:
            readers = start_actors(ray, workers, wait)
            yield lambda shares: read_by_actors(ray, readers, root, shares)
    return session


@contextlib.contextmanager
def ray_new_actors(root: str, folder: str,
                   workers: int) -> Iterator[ReadShares]:
    """Each epoch has workers of its own, as a trainer that starts again."""
    with ray_session(folder, workers) as ray:
        def read(shares: list[list[str]]) -> list[Share]:
            readers = start_actors(ray, len(shares))
            done = read_by_actors(ray, readers, root, shares)
            for reader in readers:
                ray.kill(reader)
            return done

        yield read


@contextlib.contextmanager
def ray_two_nodes(root: str, folder: str,
                  workers: int) -> Iterator[ReadShares]:
    """Two raylets on one machine, each with half of the workers."""
    import ray
    from ray.cluster_utils import Cluster
    node = {"num_cpus": workers // 2, "object_store_memory": 100 << 20,
            "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(num_cpus=workers // 2,
                         object_store_memory=100 << 20)
        ray.init(address=cluster.address, log_to_driver=False)
        readers = start_actors(ray, workers)
        yield lambda shares: read_by_actors(ray, readers, root, shares)
    finally:
        ray.shutdown()
        cluster.shutdown()


# --- dask ---

@contextlib.contextmanager
def dask_client(root: str, cluster: Any, workers: int) -> Iterator[ReadShares]:
    from dask.distributed import Client
    with Client(cluster) as client:
        client.wait_for_workers(workers, timeout=LIMIT)

        def read(shares: list[list[str]]) -> list[Share]:
            places = sorted(client.scheduler_info(n_workers=-1)["workers"])
            asked = [client.submit(read_share, root, share, pure=False,
                                   workers=[places[number % len(places)]])
                     for number, share in enumerate(shares)]
            return [each.result(timeout=LIMIT) for each in asked]

        yield read


@contextlib.contextmanager
def dask_local(root: str, folder: str, workers: int) -> Iterator[ReadShares]:
    from dask.distributed import LocalCluster
    with LocalCluster(n_workers=workers, threads_per_worker=1,
                      processes=True, dashboard_address=None,
                      local_directory=folder) as cluster:
        with dask_client(root, cluster, workers) as read:
            yield read


@contextlib.contextmanager
def dask_threads(root: str, folder: str, workers: int) -> Iterator[ReadShares]:
    from dask.distributed import LocalCluster
    with LocalCluster(n_workers=1, threads_per_worker=workers,
                      processes=False, dashboard_address=None,
                      local_directory=folder) as cluster:
        with dask_client(root, cluster, 1) as read:
            yield read


@contextlib.contextmanager
def programs(commands: list[list[str]], folder: str,
             apart: bool = False) -> Iterator[None]:
    """Programs that run meanwhile; apart: each in a session of its own."""
    with open(f"{folder}/log", "ab") as log:
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, cwd=folder,
                                    start_new_session=apart)
                   for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=LIMIT)


def dask_programs(nannies: int, each: int, apart: bool) -> Any:
    @contextlib.contextmanager
    def session(root: str, folder: str, workers: int) -> Iterator[ReadShares]:
        dask = [sys.executable, "-m", "dask"]
        found = pathlib.Path(folder, "scheduler.json")
        scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0",
                     "--no-dashboard", "--scheduler-file", str(found)]
        worker = [*dask, "worker", "--nthreads", "1", "--nworkers",
                  str(each or workers), "--no-dashboard",
                  "--scheduler-file", str(found), "--local-directory", folder]
        with programs([scheduler], folder):
            while not found.exists():
                time.sleep(0.05)
            address = json.loads(found.read_text())["address"]
            with programs([worker] * (nannies or workers), folder, apart):
                with dask_client(root, address, workers) as read:
                    yield read
    return session


# --- celery ---

def celery_app(folder: str) -> Any:
    from celery import Celery
    socket = f"{folder}/redis.sock"
    made = Celery("executors", broker=f"redis+socket://{socket}",
                  backend=f"redis+socket://{socket}")
    made.conf.update(worker_prefetch_multiplier=1, task_acks_late=True,
                     broker_connection_retry_on_startup=True)
    made.task(read_share, name="read_share")
    return made


if "EXECUTORS_FOLDER" in os.environ:  # this is the module of a celery worker
    app = celery_app(os.environ["EXECUTORS_FOLDER"])


CELERY = [sys.executable, "-m", "celery"]
HERE = pathlib.Path(__file__)


def celery_worker(*words: str) -> list[str]:
    return [*CELERY, "--workdir", str(HERE.parent), "-A", HERE.stem, "worker",
            *words]


@contextlib.contextmanager
def celery_shares(root: str, folder: str, commands: list[list[str]],
                  apart: bool) -> Iterator[ReadShares]:
    """`commands` start the workers. The broker is a Redis of our own."""
    os.environ["EXECUTORS_FOLDER"] = folder
    redis = ["redis-server", "--port", "0", "--save", "", "--unixsocket",
             f"{folder}/redis.sock"]
    with programs([redis], folder), programs(commands, folder, apart):
        app = celery_app(folder)

        def read(shares: list[list[str]]) -> list[Share]:
            asked = [app.send_task("read_share", (root, share))
                     for share in shares]
            return [each.get(timeout=LIMIT) for each in asked]

        yield read


def celery_pool(pool: str) -> Any:
    """One worker, which has a pool of processes or threads."""
    def session(root: str, folder: str, workers: int) -> Any:
        command = celery_worker("-P", pool, "-c", str(workers))
        return celery_shares(root, folder, [command], apart=False)
    return session


def celery_apart(root: str, folder: str, workers: int) -> Any:
    """Workers without a pool, each in a session of its own."""
    commands = [celery_worker("-P", "solo", "-n", f"w{number}@here")
                for number in range(workers)]
    return celery_shares(root, folder, commands, apart=True)


@contextlib.contextmanager
def celery_multi(root: str, folder: str,
                 workers: int) -> Iterator[ReadShares]:
    """Daemons, each of which becomes a child of the first process."""
    words = [str(workers), "-A", HERE.stem, "-P", "solo",
             f"--pidfile={folder}/%n.pid", f"--logfile={folder}/%n.log"]
    with celery_shares(root, folder, [], apart=False) as read:
        for what in ("start", "stopwait"):
            subprocess.run([*CELERY, "multi", what, *words], check=True,
                           cwd=HERE.parent, stdout=sys.stderr)
            if what == "start":
                yield read


WAYS: dict[str, Any] = {
    "ray-tasks": ray_tasks,
    "ray-actors": ray_actors(wait=True),
    "ray-actors-cold": ray_actors(wait=False),
    "ray-new-actors": ray_new_actors,
    "ray-two-nodes": ray_two_nodes,
    "dask-local": dask_local,
    "dask-threads": dask_threads,
    "dask-worker": dask_programs(1, 0, apart=False),
    "dask-workers-apart": dask_programs(0, 1, apart=True),
    "celery-prefork": celery_pool("prefork"),
    "celery-threads": celery_pool("threads"),
    "celery-solo-apart": celery_apart,
    "celery-multi": celery_multi,
}


def version_of(how: str) -> str:
    from importlib.metadata import version
    name = how.split("-", 1)[0]
    return f"{name} {version(name)}"


def main() -> None:
    how, root, folder = sys.argv[1:4]
    workers, epochs = map(int, sys.argv[4:])
    names = sorted(str(path.relative_to(root))
                   for path in pathlib.Path(root).glob("*/*"))
    read, seen = [], {}
    with WAYS[how](root, folder, workers) as read_shares:
        for epoch in range(epochs):
            random.Random(epoch).shuffle(names)
            done = read_shares([names[each::workers]
                                for each in range(workers)])
            read.append([item for share in done for item in share["items"]])
            for share in done:
                seen[share["worker"]["pid"]] = share["worker"]
    print(json.dumps({"version": version_of(how), "epochs": read,
                      "workers": list(seen.values())}), flush=True)


if __name__ == "__main__":
    main()
