# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes, without Kubernetes: its daemons run as the manifests say,
each in namespaces like those of a pod, and join each other."""
import base64
import os
import pathlib
import re
import secrets
import signal
import subprocess

import pytest
import yaml

import harness
import trees
from network import Network

MANIFESTS = harness.EXAMPLES / "kubernetes"
NAMES = sorted(path.name for path in MANIFESTS.iterdir())
PODS = 3


class Pod:
    """A network and a mount namespace, in which the service's name has the
    addresses of all pods."""

    def __init__(self, network, number, hosts):
        self.address = network.address(number)
        self._holder = subprocess.Popen(
            [*network.inside(number), "unshare", "--mount", "sh", "-c",
             'mount --bind "$0" /etc/hosts && echo there && exec sleep 1000',
             hosts], stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout.readline() == "there\n"
        self.daemon = None

    def run(self, words, **more):
        return subprocess.Popen(
            ["nsenter", f"--target={self._holder.pid}", "--mount", "--net",
             *words], text=True, **more)

    def output(self, words):
        process = self.run(words, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        said, _ = process.communicate(timeout=60 * harness.SLOWDOWN)
        return process.returncode, said

    def close(self):
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(timeout=60 * harness.SLOWDOWN)
        self._holder.kill()
        self._holder.wait()


class Manifest:
    """What it makes of a pod: files, a command, and where volumes are."""

    def __init__(self, name, source):
        parts = list(yaml.safe_load_all((MANIFESTS / name).read_text()))
        self.kinds = {part["kind"]: part for part in parts}
        self.workload, = (self.kinds[kind]["spec"] for kind in
                          ("Job", "DaemonSet", "StatefulSet")
                          if kind in self.kinds)
        self.spec = self.workload["template"]
        pod = self.spec["spec"]
        every = pod.get("initContainers", []) + pod["containers"]
        self.sidecar, = (one for one in every if one["name"] == "shufflefs")
        self.source = source

    def command(self, folder, key):
        """The sidecar's, with its volumes in a folder."""
        config = self.kinds["ConfigMap"]["data"]["shufflefs.toml"]
        text = "\n".join(self.sidecar["command"][2:])
        volumes = self.volumes()
        for mount in self.sidecar["volumeMounts"]:
            place = folder / mount["name"]
            if mount["name"] == "source":
                place = self.source
            else:
                place.mkdir()
                place.chmod(0o777 if "emptyDir" in volumes[mount["name"]]
                            else 0o755)
            path = mount["mountPath"]
            text = re.sub(rf'(?<![\w/]){path}(?=[/" \n]|$)', str(place), text)
            config = re.sub(rf'"{path}(?=[/"])', f'"{place}', config)
        config = config.replace("64GiB", "64MiB")
        (folder / "config" / "shufflefs.toml").write_text(config)
        (folder / "secret" / "..data").mkdir()
        secret = folder / "secret" / "..data" / "key"
        secret.write_bytes(key)
        secret.chmod(0o400)
        (folder / "secret" / "key").symlink_to("..data/key")
        return ["sh", "-c", text]

    def volumes(self):
        """Of each name; a claim that each pod gets by itself has no more."""
        claims = [each["metadata"] for each in
                  self.workload.get("volumeClaimTemplates", [])]
        return {each["name"]: each
                for each in self.spec["spec"]["volumes"] + claims}

    def host(self):
        return self.kinds["Service"]["metadata"]["name"]


@pytest.fixture(params=["root"] if os.geteuid() == 0 else [])
def network(request):
    del request
    made = Network(PODS)
    yield made
    made.close()


def start(pod, command):
    programs = [os.path.dirname(harness.shufflefs()), "/usr/sbin", "/usr/bin",
                "/sbin", "/bin"]
    pod.daemon = pod.run(command, env={
        **os.environ, "POD_IP": pod.address, "PATH": ":".join(programs)})


def probe(manifest):
    probes = [manifest.sidecar.get(key)
              for key in ("startupProbe", "readinessProbe")]
    one, = (each for each in probes if each)
    return one["exec"]["command"]


# [S-24.1a] With peers every byte that readers get is that of the source,
# whatever happens to a peer.
@pytest.mark.parametrize("name", NAMES)
def test_the_daemons_of_all_pods_join(network, folder, name):
    source = trees.blobs(folder / "source", classes=3, per_class=20)
    manifest = Manifest(name, source)
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(
        f"{network.address(number)} {manifest.host()}\n"
        for number in range(PODS)))
    key = base64.b64encode(secrets.token_bytes(32)) + b"\n"
    pods, commands = [], []
    try:
        for number in range(PODS):
            place = folder / f"pod{number}"
            place.mkdir(mode=0o755)
            pods.append(Pod(network, number, hosts))
            commands.append(manifest.command(place, key))
            start(pods[-1], commands[-1])
        for number, pod in enumerate(pods):
            look(pod, folder / f"pod{number}", manifest, source)
        # Kubernetes starts a container that died again, with its volumes.
        pods[1].daemon.kill()
        pods[1].daemon.wait()
        start(pods[1], commands[1])
        look(pods[1], folder / "pod1", manifest, source)
    finally:
        for pod in pods:
            pod.close()


def look(pod, place, manifest, source):
    data = place / "mnt" / "data"
    asked = [word.replace("/mnt/data", str(data)) for word in probe(manifest)]
    asked[0] = harness.shufflectl()
    harness.eventually(lambda: pod.output(asked)[0] == 0, what="the probe")

    def joined():
        _, said = pod.output([harness.shufflectl(), "peers", data])
        rows = [line.split()[:2] for line in said.splitlines()
                if line.startswith("10.")]
        return (sorted(state for _, state in rows) ==
                ["self"] + ["yes"] * (PODS - 1)) or None
    harness.eventually(joined, what="joining")
    _, shown = pod.output(["sh", "-c", f"cat {data}/*/* | wc -c"])
    assert int(shown) == sum(path.stat().st_size
                             for path in source.rglob("*") if path.is_file())


# What the daemon needs of its container, and the pods that read of the mount.
@pytest.mark.parametrize("name", NAMES)
def test_mounts_reach_other_containers(name):
    manifest = Manifest(name, pathlib.Path("/"))
    assert manifest.sidecar["securityContext"]["privileged"] is True
    mounts = {each["name"]: each for each in manifest.sidecar["volumeMounts"]}
    assert mounts["mnt"]["mountPropagation"] == "Bidirectional"
    assert mounts["source"]["readOnly"] is True
    pod = manifest.spec["spec"]
    assert set(manifest.volumes()) == set(mounts)
    for container in pod["containers"]:
        if container is not manifest.sidecar:
            other, = container["volumeMounts"]
            assert other["mountPropagation"] == "HostToContainer"
            assert other["mountPath"] == mounts["mnt"]["mountPath"]
    service = manifest.kinds["Service"]["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    labels = manifest.spec["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()
    port, = service["ports"]
    keys = manifest.kinds["ConfigMap"]["data"]["shufflefs.toml"]
    assert f'"dns:{manifest.host()}:{port["port"]}"' in keys


# Its pods find each other by the names that they get of the Service.
def test_pods_of_the_stateful_set_have_names():
    manifest = Manifest("statefulset.yaml", pathlib.Path("/"))
    workload, pod = manifest.workload, manifest.spec["spec"]
    assert workload["serviceName"] == manifest.host()
    assert workload["selector"]["matchLabels"] == (
        manifest.spec["metadata"]["labels"])
    assert pod.get("restartPolicy", "Always") == "Always"
    # Else the first pod would wait for ranks that are not started.
    assert workload["podManagementPolicy"] == "Parallel"
    training, = pod["containers"]
    name = manifest.kinds["StatefulSet"]["metadata"]["name"]
    command = training["command"][-1]
    assert f"--master-addr {name}-0.{manifest.host()} " in command
    assert f"--nnodes {workload['replicas']} " in command
    rank = re.search(r'--node-rank "(\S+)"', command)[1]
    done = harness.run(["sh", "-c", f'echo "{rank}"'],
                       env={"HOSTNAME": f"{name}-3"})
    assert done.stdout == "3\n"
