# SPDX-License-Identifier: Apache-2.0
"""Who may read what: a mount gives nobody what the source refuses him."""
import errno
import json
import os
import stat
import struct

import pytest

import containers
import harness
import record_checks
import trees
from harness import NOBODY, SELF, User

OTHERS = {"allow_other": None, "epoch.advance": "manual"}
TREE = {**OTHERS, "substitute": "tree", "memory": "12MiB"}
GROUP = 12345
MEMBER = User("member", NOBODY.uid, GROUP)  # of the group alone
# How long a directory that was closed may stay open, and time to notice.
SOON = 20


def as_root(test):
    """A case that serves another user: it is one for root alone."""
    return test if SELF.uid == 0 else None


def readable(root, user):
    """{path: digest} of the files that the user finds and can read."""
    script = (harness.CLIENTS / "digest_tree.py").read_text()
    done = harness.run([harness.PYTHON, "-c", script, root], user=user)
    return {path: value for path, value in json.loads(done.stdout).items()
            if isinstance(value, str)}


def may(test, path, user):
    """`test` as of test(1): -r to read, -x to search."""
    return harness.run(["test", test, path], user=user,
                       check=False).returncode == 0


def can_read(path, user):
    return harness.run(["cat", path], user=user, check=False).returncode == 0


def set_acl(path, *entries):
    """Each entry: (tag, permissions[, id]), as the kernel takes them."""
    tags = {"u::": 1, "u": 2, "g::": 4, "g": 8, "m": 16, "o": 32}
    data = struct.pack("<I", 2)
    for tag, bits, *number in entries:
        data += struct.pack("<HHI", tags[tag], bits,
                            number[0] if number else 0xFFFFFFFF)
    os.setxattr(path, "system.posix_acl_access", data)


def without(user, bits=4):
    """A list that gives all but one user what 0644 or 0755 does."""
    return (("u::", bits | 2), ("u", 0, user.uid), ("g::", bits), ("m", bits),
            ("o", bits))


@pytest.fixture
def source(folder):
    """Five class folders, two of them closed to others."""
    source = trees.blobs(folder / "source", 5, 30, largest=40_000)
    for name in ("c1", "c3"):
        (source / name).chmod(0o700)
    return source


def closed_samples(source):
    return {value for path, value in trees.contents(source).items()
            if path[:2] in ("c1", "c3")}


POLICIES = [{"policy": "lirs"}, {"policy": "brand"},
            {"policy": "met", "tier.capacity": "4MiB"}]


def with_tier(options, folder):
    if options["policy"] != "met":
        return options
    (folder / "tier").mkdir()
    return {**options, "tier.path": folder / "tier"}


# [S-3.16a] No name shows a sample to somebody whom the source refuses it.
@as_root
@pytest.mark.parametrize("policy", POLICIES, ids=lambda each: each["policy"])
def test_no_sample_of_a_closed_folder_comes_under_an_open_name(
        mounts, folder, source, policy):
    mount = mounts(source, with_tier({**TREE, **policy}, folder))
    wrong = closed_samples(source)
    for _ in range(2):
        seen = readable(mount.path, NOBODY)
        assert len(seen) == 90 and not wrong & set(seen.values())
        if policy["policy"] != "met":
            all_of_it = readable(mount.path, SELF)
            whole = trees.contents(source)
            assert sorted(all_of_it.values()) == sorted(whole.values())
            assert trees.moved(whole, all_of_it) > 100
        mount.next_epoch()


@as_root
def test_a_groups_file_joins_only_what_the_same_users_may_read(
        mounts, folder, source):
    groups = folder / "groups"
    groups.write_text("".join(f"{path}\tall\n"
                              for path in trees.contents(source)))
    mount = mounts(source, {**TREE, "policy": "lirs", "groups": groups})
    seen = readable(mount.path, NOBODY)
    assert len(seen) == 90
    assert not closed_samples(source) & set(seen.values())


@as_root
def test_files_of_one_folder_are_told_apart(mounts, source):
    """A mode counts as a directory does."""
    closed = sorted((source / "c0").iterdir())[::2]
    for path in closed:
        path.chmod(0o600)
    mount = mounts(source, {**OTHERS, "policy": "lirs",
                            "substitute": "directory"})
    seen = readable(mount.path / "c0", NOBODY)
    names = {path.name for path in (source / "c0").iterdir()}
    assert set(seen) == names - {path.name for path in closed}


def lines_of(root, name, user):
    done = harness.run(["cat", root / name], user=user, check=False)
    return done.stdout.splitlines()


def write_lines(path, name, count=400):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name}-{i}\n" for i in range(count)))


def untouched(mount):
    return {each["path"]: each["why"]
            for each in mount.view()["records"]["untouched"]}


RECORDS = {**OTHERS, "policy": "lirs", "record.as": "*.csv:lines"}


# [S-3.16b] Records are mixed only with those of files that the same users may
# read.
@as_root
def test_a_set_with_a_closed_shard_is_shown_as_it_is(mounts, folder):
    source = folder / "source"
    names = [f"t-{i:05}-of-00002.csv" for i in range(2)]
    for i, name in enumerate(names):
        write_lines(source / name, i)
    (source / names[1]).chmod(0o600)
    mount = mounts(source, {**RECORDS, "record.scope": "set"})
    open_one = lines_of(mount.path, names[0], NOBODY)
    assert open_one == (source / names[0]).read_text().splitlines()
    assert not can_read(mount.path / names[1], NOBODY)
    why = untouched(mount)
    assert set(why) == set(names)
    assert all("may read both" in each for each in why.values()), why


@as_root
def test_a_view_mixes_apart_what_is_closed(mounts, folder):
    source = folder / "source"
    names = ["open/a.csv", "open/b.csv", "shut/c.csv", "shut/d.csv"]
    for name in names:
        write_lines(source / name, name[5])
    (source / "shut").chmod(0o700)
    mount = mounts(source, {**RECORDS, "record.scope": "view"})
    shown = {name: lines_of(mount.path, name, SELF) for name in names}
    for here, others in (("ab", "cd"), ("cd", "ab")):
        family = [name for name in names if name[5] in here]
        letters = {line[0] for name in family for line in shown[name]}
        assert letters == set(here)
        assert all({line[0] for line in shown[name]} == set(here)
                   for name in family)
    assert lines_of(mount.path, names[0], NOBODY) == shown[names[0]]
    assert lines_of(mount.path, names[2], NOBODY) == []
    assert any("record.scope" in line for line in mount.view()["warnings"])


@as_root
def test_what_is_in_a_closed_archive_is_not_told(mounts, folder):
    """The status and the log are for everybody, and name the file alone."""
    source = folder / "source"
    source.mkdir()
    containers.write_tar(source / "closed.tar", [
        (name, {"txt": b"t"}) for name in ("a", "needle", "b", "needle")])
    (source / "closed.tar").chmod(0o600)
    mount = record_checks.indexed(mounts(source, {**OTHERS, "policy": "lirs"}))
    assert "comes again" in untouched(mount)["closed.tar"]
    told = [(mount.control_dir / name).read_text()
            for name in ("status", "metrics")]
    assert not any("needle" in text for text in (*told, mount.log()))


# [S-3.16c] With allow_other a mode is shown that gives nobody more than the
# access control list does.
@as_root
def test_access_control_lists_hold(mounts, folder):
    source = trees.blobs(folder / "source", 3, 10, largest=1000)
    one, two, three = (sorted((source / "c0").iterdir())[i] for i in range(3))
    set_acl(one, *without(NOBODY))
    # The mode of `two` says r for the group: that is the list's mask.
    os.chown(two, 0, GROUP)
    set_acl(two, ("u::", 6), ("u", 4, 1), ("g::", 0), ("m", 4), ("o", 0))
    assert stat.S_IMODE(two.stat().st_mode) == 0o640
    set_acl(source / "c1", *without(NOBODY, 5))
    for options in ({"policy": "native"},
                    {"policy": "lirs", "substitute": "tree"}):
        mount = mounts(source, {**OTHERS, **options})
        for user in (NOBODY, MEMBER):
            for path in (one, two):
                assert not can_read(source / "c0" / path.name, user)
                assert not can_read(mount.path / "c0" / path.name, user)
            assert can_read(mount.path / "c0" / three.name, user)
            assert not may("-x", source / "c1", user)
            assert not may("-x", mount.path / "c1", user)
            assert readable(mount.path / "c1", user) == {}
        wrong = {trees.digest(path.read_bytes())
                 for path in (one, two, *(source / "c1").iterdir())}
        assert not wrong & set(readable(mount.path, NOBODY).values())
        assert len(readable(mount.path, SELF)) == 30
        mount.unmount()


# [S-3.16a] No name shows a sample to somebody whom the source refuses it.
@as_root
@pytest.mark.parametrize("policy", ["native", "lirs"])
def test_in_a_user_namespace_nobody_is_not_everybody(folder, policy):
    """Users whom the namespace does not map appear there as nobody."""
    source = trees.blobs(folder / "source", 3, 6, largest=1000)
    for folder_of, owner, mode in (("c0", (1000, 0), 0o640),
                                   ("c1", (0, 1000), 0o640),
                                   ("c2", (1000, 1000), 0o644)):
        for path in (source / folder_of).iterdir():
            os.chown(path, *owner)
            path.chmod(mode)
    for name in ("mnt", "state"):
        (folder / name).mkdir()
    options = (f"allow_other,policy={policy},substitute=tree,"
               f"state={folder}/state")
    client = harness.CLIENTS / "in_user_namespace.py"
    done = harness.run([harness.PYTHON, client, harness.shufflefs(), options,
                        source, folder / "mnt"], check=False)
    if done.returncode == 77:
        return  # no user namespaces here
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["source"]) == 6
    assert found["mount"] == found["source"]


# [S-3.16d] A directory that is closed in the source closes in the mount within
# two seconds, and names elsewhere show nothing of it any more.
@as_root
@pytest.mark.parametrize("policy", ["native", "lirs"])
def test_a_directory_is_closed_while_mounted(mounts, source, policy):
    mount = mounts(source, {**TREE, "policy": policy})
    was = readable(mount.path, NOBODY)
    assert len(was) == 90
    wrong = {trees.digest(path.read_bytes())
             for path in (source / "c0").iterdir()}
    (source / "c0").chmod(0o700)

    def closed():
        now = readable(mount.path, NOBODY)
        return (not any(path.startswith("c0/") for path in now)
                and not wrong & set(now.values()) and now)
    now = harness.eventually(closed, SOON, "closing c0")
    # All others are there as ever, and root reads on.
    assert set(now.items()) <= set(was.items())
    assert len(readable(mount.path, SELF)) == 150


@as_root
def test_what_is_opened_while_mounted_waits_for_the_next_mount(
        mounts, source):
    mount = mounts(source, {**TREE, "policy": "lirs"})
    wrong = closed_samples(source)
    (source / "c1").chmod(0o755)
    (source / "c0").chmod(0o700)
    harness.eventually(lambda: not may("-x", mount.path / "c0", NOBODY), SOON,
                       "closing c0")  # so both were looked at
    assert not may("-x", mount.path / "c1", NOBODY)
    assert not wrong & set(readable(mount.path, NOBODY).values())
    mount.unmount()
    mount.start()
    assert len(readable(mount.path, NOBODY)) == 90
    assert may("-x", mount.path / "c1", NOBODY)


@as_root
def test_records_of_a_directory_that_is_closed_are_not_shown(mounts, folder):
    source = folder / "source"
    for name in ("one/a.csv", "two/b.csv"):
        write_lines(source / name, name[4])
    mount = mounts(source, {**RECORDS, "record.scope": "view"})
    name = "one/a.csv"
    assert {line[0] for line in lines_of(mount.path, name, NOBODY)} == {
        "a", "b"}
    (source / "two").chmod(0o700)
    harness.eventually(lambda: not can_read(mount.path / name, NOBODY), SOON,
                       "closing the family")
    assert can_read(mount.path / name, SELF)


# [S-3.16e] Only who may list every directory of the view can read order or
# list a ranked view.
@as_root
def test_names_of_closed_directories_are_not_told(mounts, source):
    ranked = {**OTHERS, "policy": "lirs", "layout": "ranked"}
    for options in (ranked, {**OTHERS, "policy": "lirs"}):
        (source / "c1").chmod(0o755)
        (source / "c3").chmod(0o755)
        mount = mounts(source, options)
        is_ranked = "layout" in options
        listed = mount.path if is_ranked else (
            mount.control_dir / "epoch/0/ranked")
        order = mount.control_dir / "order"
        names = os.listdir(listed)
        assert may("-r", order, NOBODY) and may("-r", listed, NOBODY)
        (source / "c1").chmod(0o711)  # open to all who know a name

        def kept():
            return not (can_read(order, NOBODY) or
                        harness.run(["ls", listed], user=NOBODY,
                                    check=False).returncode == 0)
        harness.eventually(kept, SOON, "hiding names")
        assert can_read(order, SELF) and os.listdir(listed) == names
        mount.unmount()


@as_root
def test_an_open_name_tells_no_name_that_cannot_be_listed(mounts, source):
    (source / "c1").chmod(0o711)
    (source / "c3").chmod(0o755)
    mount = mounts(source, {**TREE, "policy": "lirs"})
    shown = []
    for folder in ("c0", "c2", "c3", "c4"):
        for path in (mount.path / folder).iterdir():
            try:
                shown.append(os.getxattr(path, "user.shufflefs.sample"))
            except OSError as error:
                assert error.errno == errno.ENODATA
                shown.append(b"")
    assert b"" in shown  # c1 has the same users as the others
    assert not any(name.startswith(b"c1/") for name in shown)
    assert any(name.startswith(b"c0/") for name in shown)


@as_root
def test_a_group_that_may_list_all_reads_the_order(mounts, source):
    for path in (source, *source.iterdir()):
        os.chown(path, 0, GROUP)
        path.chmod(0o750)
    mount = mounts(source, {**OTHERS, "policy": "lirs"})
    assert can_read(mount.control_dir / "order", MEMBER)
    # Who may not pass the source's directory may not pass the mount's either.
    assert not can_read(mount.control_dir / "order", NOBODY)


@as_root
def test_the_group_of_a_directory_that_is_closed_to_it_reads_no_rank(
        mounts, source):
    """Of a directory that others may search and its own group may not."""
    trees.give_to(source, User("", 0, GROUP))
    (source / "c0").chmod(0o705)
    mount = mounts(source, {**OTHERS, "policy": "lirs", "layout": "ranked"})
    for name in os.listdir(mount.path):
        folder = name.split("~")[1]
        path = mount.path / name
        assert can_read(path, MEMBER) == (folder in ("c2", "c4")), name
        assert can_read(path, NOBODY) == (folder in ("c0", "c2", "c4")), name


# [S-3.16f] A file whose permission is taken away after the scan gives nobody
# a byte that the mount does not hold already.
@as_root
@pytest.mark.parametrize("policy", ["native", "lirs"])
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_file_that_is_closed_after_the_scan_is_refused(
        mounts, source, policy, mode):
    mount = mounts(source, {**OTHERS, "policy": policy,
                            "substitute": "never"})
    first, second = (sorted((source / "c0").iterdir())[i] for i in range(2))
    first.chmod(mode)
    assert not can_read(mount.path / "c0" / first.name, NOBODY)
    assert can_read(mount.path / "c0" / second.name, NOBODY)
    set_acl(second, *without(User("", 4711, 4711)))
    third = sorted((source / "c0").iterdir())[2]
    set_acl(third, *without(NOBODY))
    assert not can_read(mount.path / "c0" / third.name, NOBODY)


# [S-3.16g] Rights that change between mounts are noticed by the next one.
@as_root
def test_a_saved_catalogue_knows_nothing_of_new_rights(mounts, source):
    mount = mounts(source, {**TREE, "policy": "lirs"})
    mount.unmount()
    path = sorted((source / "c0").iterdir())[0]
    path.chmod(0o600)
    wrong = trees.digest(path.read_bytes())
    mount.start()
    seen = readable(mount.path, NOBODY)
    assert len(seen) == 89 and wrong not in seen.values()
    assert len(readable(mount.path, SELF)) == 150
    mount.unmount()
    path.chmod(0o644)
    mount.start()
    assert len(readable(mount.path, NOBODY)) == 90
    mount.unmount()
    # Served to oneself alone nothing is kept apart.
    del mount.options["allow_other"]
    mount.start()
    wrong = closed_samples(source)
    names = readable(mount.path, SELF)
    assert wrong & {value for path, value in names.items()
                    if path[:2] not in ("c1", "c3")}


# [S-3.16h] In his own mount a user's files are shuffled, whoever else may read
# them.
def test_ones_own_closed_files_are_shuffled(mounts, folder):
    source = trees.blobs(folder / "source", 3, 40, largest=1000)
    trees.give_to(source, NOBODY)
    for path in source.rglob("*.png"):
        path.chmod(0o600)
    mount = mounts(source, {"policy": "lirs", "substitute": "directory"},
                   user=NOBODY)
    whole = trees.contents(source)
    shown = readable(mount.path, NOBODY)
    assert trees.moved(whole, shown) > 100
    assert sorted(shown.values()) == sorted(whole.values())
