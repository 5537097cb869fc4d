# SPDX-License-Identifier: Apache-2.0
"""How the daemon starts, says no, and is mounted by other means."""
import ctypes
import os
import re
import signal

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def places(folder):
    """A mountpoint and a state directory, and no mount left at the end."""
    mountpoint, state = folder / "mnt", folder / "state"
    mountpoint.mkdir()
    state.mkdir()
    # A daemon that leaves its parent becomes a child of this process, which
    # can so wait for its end.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield mountpoint, state
    while harness.mount_types(mountpoint):
        harness.run(["umount", "-l", mountpoint], check=False)


def daemon_of(mountpoint):
    """The process id of the daemon that serves the mountpoint."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if os.fsencode(mountpoint) in words and b"python" not in words[0]:
            return int(entry)
    return None


def run_daemon(*arguments, **kwargs):
    return harness.run([harness.shufflefs(), *arguments], check=False,
                       **kwargs)


def end_daemon(mountpoint):
    pid = daemon_of(mountpoint)
    if harness.SELF.uid == 0:
        harness.run(["umount", mountpoint])
    else:
        harness.run(["fusermount3", "-u", mountpoint])
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_the_command_returns_when_the_mount_serves(source, places):
    mountpoint, state = places
    done = run_daemon("-o", f"policy=native,state={state}", source, mountpoint)
    assert done.returncode == 0, done.stderr
    assert harness.mount_types(mountpoint) == ["fuse.shufflefs"]
    assert trees.contents(mountpoint) == trees.contents(source)
    pid = daemon_of(mountpoint)
    assert os.getsid(pid) == pid or os.getsid(pid) != os.getsid(0)
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for stream in range(3):
        assert os.readlink(f"/proc/{pid}/fd/{stream}") == "/dev/null"
    end_daemon(mountpoint)


def test_sigterm_unmounts(source, places):
    mountpoint, state = places
    done = run_daemon("-o", f"policy=native,state={state}", source, mountpoint)
    assert done.returncode == 0
    pid = daemon_of(mountpoint)
    os.kill(pid, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert harness.mount_types(mountpoint) == []


@pytest.mark.parametrize("arguments", [
    [], ["only-source"], ["a", "b", "c"], ["--nonsense", "a", "b"],
    ["-o", "nonsense=1", "{source}", "{mnt}"],
    ["-o", "policy=fastest", "{source}", "{mnt}"],
    ["-o", "seed=-1", "{source}", "{mnt}"],
    ["-o", "lirs.page=3KiB", "{source}", "{mnt}"],
])
def test_wrong_usage_is_exit_2_and_says_why(source, places, arguments):
    mountpoint, _ = places
    done = run_daemon(*[word.format(source=source, mnt=mountpoint)
                        for word in arguments])
    assert done.returncode == 2
    assert "shufflefs" in done.stderr and done.stdout == ""
    assert harness.mount_types(mountpoint) == []


def test_what_cannot_be_mounted_is_exit_1_and_one_line(source, places,
                                                       folder):
    mountpoint, state = places
    file = folder / "file"
    file.write_text("no folder")
    for where, at in ((folder / "absent", mountpoint), (file, mountpoint),
                      (source, folder / "absent"), (source, file)):
        done = run_daemon("-o", f"state={state}", where, at)
        assert done.returncode == 1, done
        assert done.stderr.startswith("shufflefs: ")
        assert done.stderr.count("\n") == 1, done.stderr
        assert "absent" in done.stderr or "file" in done.stderr
        # What to do comes last.
        assert re.search("; (name the directory of the dataset|name a directory"
                         " to mount on|make the mount point: mkdir -p .*)\n$",
                         done.stderr)
    done = run_daemon("--config", folder / "absent.toml", source, mountpoint)
    assert done.returncode == 1 and "absent.toml" in done.stderr
    assert harness.mount_types(mountpoint) == []


def test_what_is_mounted_already_names_its_source(mounts, source, folder):
    mount = mounts(source, {"policy": "native"})
    other = trees.class_folders(folder / "other")
    done = run_daemon("-o", f"state={folder / 'second'}", other, mount.path)
    assert done.returncode == 1
    assert done.stderr == (
        f"shufflefs: {mount.path}: a shufflefs is mounted there already, which "
        f"shows {source}; use it, or end it with: shufflectl umount "
        f"{mount.path}\n")


def test_a_bad_config_names_its_line(source, places, folder):
    mountpoint, _ = places
    config = folder / "bad.toml"
    config.write_text('policy = "lirs"\nsede = 3\n')
    done = run_daemon("--config", config, source, mountpoint)
    assert done.returncode == 2
    assert "bad.toml:2" in done.stderr and "sede" in done.stderr


def test_a_config_file_and_options_are_the_same_keys(mounts, source, folder):
    config = folder / "good.toml"
    config.write_text('policy = "lirs"\nseed = 3\n[epoch]\nadvance = "manual"'
                      '\nstart = 2\n')
    for options, arguments in (({}, ["--config", config]),
                               ({"config": config}, [])):
        mount = mounts(source, options, arguments=arguments)
        view = mount.view()
        assert (view["policy"], view["seed"], view["epoch"]) == ("lirs", 3, 2)
        mount.unmount()


@pytest.mark.parametrize("background", [True, False])
def test_a_failed_start_leaves_no_mount_if_sigterm_is_ignored(source, places,
                                                              background):
    """As below a script with trap '' TERM. Nothing touches the mount."""
    mountpoint, state = places
    words = [] if background else ["-f"]
    done = harness.run(["sh", "-c", "trap '' TERM; exec \"$@\"", "sh",
                        harness.shufflefs(), *words, "-o",
                        f"path=nosuch,state={state}", source, mountpoint],
                       check=False)
    assert done.returncode == 1 and "nosuch" in done.stderr
    harness.eventually(lambda: not harness.mount_types(mountpoint),
                       what="the end of the mount")


def test_version_and_help_need_no_mount(places):
    done = run_daemon("--version")
    assert done.returncode == 0 and "shufflefs" in done.stdout
    done = run_daemon("--help")
    assert done.returncode == 0 and "epoch.advance" in done.stdout


@pytest.mark.parametrize("way", ["name", "link"])
def test_a_groups_file_may_be_in_what_is_mounted_over(mounts, source, folder,
                                                      way):
    """By its name the daemon would ask itself."""
    before = trees.contents(source)
    group_of = {name: f"{os.path.dirname(name)}-{index % 2}"
                for index, name in enumerate(sorted(before))}
    (source / "groups.tsv").write_text("".join(
        f"{name}\t{group}\n" for name, group in group_of.items()))
    groups = source / "groups.tsv"
    if way == "link":
        (folder / "link").symlink_to("source/way")
        (source / "way").symlink_to(source / "groups.tsv")
        groups = folder / "link"
    mount = mounts(source, {**MANUAL, "groups": groups}, mountpoint=source)
    shown = {name: digest for name, digest in trees.contents(source).items()
             if name in before}
    assert trees.moved(before, shown) > 0
    digests = {digest: name for name, digest in before.items()}
    for name, digest in shown.items():
        assert group_of[digests[digest]] == group_of[name]
    assert f'groups = "{groups}"' in mount.read("control")


# [S-3.12c] A live mount is never replaced, and one state serves one daemon.
@pytest.mark.parametrize("way", ["", "above/"])
def test_a_link_to_a_mount_point_is_the_mount_point(source, places, folder,
                                                    way):
    mountpoint, state = places
    (folder / "link").symlink_to("mnt")
    (folder / "above").symlink_to(folder)
    link = f"{folder}/{way}link"
    words = ["-o", f"policy=native,state={state}", source, link]
    assert run_daemon(*words).returncode == 0
    for at in (mountpoint, link):
        done = run_daemon("-o", f"policy=lirs,state={folder}/other", source, at)
        assert done.returncode == 1
        assert f"{mountpoint}: a shufflefs is mounted there" in done.stderr
    pid = daemon_of(os.fspath(link))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert run_daemon(*words).returncode == 0
    assert harness.mount_types(mountpoint) == ["fuse.shufflefs"]
    os.kill(daemon_of(os.fspath(link)), signal.SIGTERM)
    os.wait()


def test_brackets_are_part_of_a_name(source, places, folder):
    mountpoint, state = places
    named, other = folder / "[mnt]", folder / "[source]"
    named.mkdir()
    other.mkdir()
    (other / "alone").write_text("it")
    try:
        done = run_daemon("-o", f"policy=native,state={state}", "[source]",
                          "[mnt]", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert harness.mount_types(mountpoint) == []
        assert os.listdir(named) == ["alone"]
        done = harness.run([harness.shufflectl(), "epoch", "--json", "[mnt]",
                            "next"], cwd=folder)
        assert '"epoch":1' in done.stdout
    finally:
        harness.run(["umount", "-l", named], check=False)


@pytest.mark.parametrize("key", ["state", "tier.path"])
def test_nothing_is_written_below_the_source(source, places, folder, key):
    mountpoint, state = places
    before = trees.contents(source)
    keys = {"state": state, "policy": "native", key: source / "c0"}
    done = run_daemon("-o", ",".join(f"{k}={v}" for k, v in keys.items()),
                      source, mountpoint)
    assert done.returncode == 1
    assert "lies in the source" in done.stderr and f"-o {key}" in done.stderr
    assert harness.mount_types(mountpoint) == []
    assert trees.contents(source) == before


def test_the_root_is_no_mount_point(source, places):
    _, state = places
    done = run_daemon("-o", f"policy=native,state={state}", source, "/")
    assert done.returncode == 1
    assert "make a directory, and name that" in done.stderr


# [S-3.12c] A live mount is never replaced, and one state serves one daemon.
def test_a_state_directory_serves_one_daemon(mounts, source, folder):
    one = mounts(source, MANUAL)
    (folder / "other").mkdir()
    os.chown(folder / "other", one.user.uid, one.user.gid)
    done = run_daemon("-f", "-o", f"policy=lirs,state={one.state}", source,
                      folder / "other")
    assert done.returncode == 1
    assert str(one.state) in done.stderr
    assert harness.mount_types(folder / "other") == []
    assert one.view()["epoch"] == 0


@pytest.mark.parametrize("word", ["noexec", "users"])
def test_noexec_holds(mounts, folder, word):
    source = folder / "source"
    source.mkdir()
    (source / "run").write_text("#!/bin/sh\nexit 0\n")
    (source / "run").chmod(0o755)
    mount = mounts(source, {"policy": "native"})
    harness.run([mount.path / "run"])
    mount.unmount()
    mount.options[word] = None
    mount.start()
    with pytest.raises(PermissionError):
        harness.run([mount.path / "run"])


def test_the_way_of_fstab(source, places, folder):
    """mount -t fuse.shufflefs finds the program by its name."""
    mountpoint, state = places
    command = ["mount", "-t", "fuse.shufflefs", "-o",
               f"policy=native,state={state},nosuid,nodev,noatime,_netdev",
               source, mountpoint]
    if harness.SELF.uid != 0:  # mount(8) refuses without an fstab line
        assert harness.run(command, check=False).returncode != 0
        return
    # Installed, but in this mount namespace only.
    harness.run(["mount", "-t", "tmpfs", "tmpfs", "/usr/local/bin"])
    try:
        os.symlink(harness.shufflefs(), "/usr/local/bin/shufflefs")
        harness.run(command)
        assert trees.contents(mountpoint) == trees.contents(source)
        end_daemon(mountpoint)
    finally:
        harness.run(["umount", "-l", "/usr/local/bin"])
