# SPDX-License-Identifier: Apache-2.0
"""The token: a job saves it with its checkpoint, writes it back, and reads the
rest of the epoch."""
import collections
import errno

import pytest

import harness
import token_jobs as jobs
import trees

POLICIES = ["lirs", "brand", "met"]
ADVANCES = ["manual", "auto"]
HALF = 90  # of 200 names


@pytest.fixture
def source(folder):
    return jobs.source_in(folder)


def fresh(mounts, source, options, folder, **more):
    """A mount with a state of its own, as on another machine."""
    keys = {**options, **more}
    if "tier.path" in keys:
        keys["tier.path"] = folder / f"tier{len(list(folder.glob('tier*')))}"
        keys["tier.path"].mkdir()
    return mounts(source, keys)


def begin_second(mount, source, advance):
    """Reads epoch 0, and so goes to epoch 1; what it read of that."""
    job = jobs.Job(mount)
    job.read(jobs.order(source, 0))
    if advance == "manual":
        mount.next_epoch()
    names = jobs.order(source, 1)
    seen = job.read(names[:HALF])
    job.end()
    assert mount.view()["epoch"] == 1
    return names, seen


def go_on(mount, source, names, seen, advance):
    """Reads the rest: the epoch is exactly once, and so are those after it."""
    expected = jobs.whole(source)
    assert (mount.view()["epoch"], mount.view()["consumed"]) == (1, HALF)
    job = jobs.Job(mount)
    seen = seen + job.read(names[HALF:])
    assert collections.Counter(seen) == expected
    shown = [dict(zip(names, seen))]
    for epoch in (2, 3):
        if advance == "manual":
            mount.next_epoch()
        again = jobs.order(source, epoch)
        seen = job.read(again)
        assert collections.Counter(seen) == expected
        shown.append(dict(zip(again, seen)))
        assert mount.view()["epoch"] == epoch
        moved = sum(shown[-1][name] != shown[-2][name] for name in names)
        assert moved > len(names) / 2, "the names were frozen"
    job.end()
    assert not [line for line in mount.view()["warnings"] if "split" in line]
    proof = jobs.proven(mount)
    assert proof["proven"], proof
    for epoch in (1, 2):
        assert jobs.last_of(proof, epoch)["consumed"] == len(names)


# [S-3.12d] A token that is written back beside the state that it was saved
# from changes nothing that the state knows.
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("advance, ends", [("manual", True), ("auto", True),
                                           ("auto", False)])
def test_beside_the_same_state(mounts, source, folder, policy, advance, ends):
    mount = mounts(source, jobs.options(policy, advance, folder))
    names, seen = begin_second(mount, source, advance)
    token = mount.read("token")
    if ends:
        (mount.kill if advance == "auto" else mount.unmount)()
        mount.start()
    before = mount.read("order")
    assert mount.write_control(token, "token") is None, mount.read("error")
    assert mount.read("order") == before
    assert mount.read("token").split()[:6] == token.split()[:6]
    go_on(mount, source, names, seen, advance)


# [S-3.12p] In another state it restores the epoch, and the rest of the epoch
# shows the samples that are left.
@pytest.mark.parametrize("advance", ADVANCES)
@pytest.mark.parametrize("policy", POLICIES)
def test_in_another_state(mounts, source, folder, policy, advance):
    options = jobs.options(policy, advance, folder)
    mount = mounts(source, options)
    names, seen = begin_second(mount, source, advance)
    token = mount.read("token")
    mount.unmount()
    other = fresh(mounts, source, options, folder, seed=9)
    jobs.read(other, names[:3])  # somebody looked what is there
    assert other.write_control(token, "token") is None, other.read("error")
    assert other.view()["seed"] == 0
    assert other.read("token").split()[:6] == token.split()[:6]
    go_on(other, source, names, seen, advance)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_state_has_gone_on_to_another_epoch(mounts, source, folder,
                                                policy):
    """The checkpoint is older than what was read: the job reads it again."""
    mount = mounts(source, jobs.options(policy, "auto", folder))
    names, seen = begin_second(mount, source, "auto")
    token = mount.read("token")
    assert mount.write_control(token, "token") is None, mount.read("error")
    jobs.read(mount, names[HALF:], jobs.order(source, 2)[:HALF])
    assert mount.view()["epoch"] == 2
    assert mount.write_control(token, "token") is None, mount.read("error")
    assert mount.view()["epoch"] == 1
    job = jobs.Job(mount)
    seen += job.read(names[HALF:])
    assert collections.Counter(seen) == jobs.whole(source)
    assert mount.view()["epoch"] == 1
    seen = job.read(jobs.order(source, 2))
    assert collections.Counter(seen) == jobs.whole(source)
    assert mount.view()["epoch"] == 2
    job.end()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_loader_opens_again_what_it_had_read_ahead(mounts, source, folder,
                                                     policy):
    """The daemon has counted more than the job had trained on."""
    mount = mounts(source, jobs.options(policy, "auto", folder))
    names = jobs.order(source, 0)
    ahead = 60
    seen = jobs.read(mount, names[:HALF + ahead])
    token = mount.read("token")
    mount.kill()
    mount.start()
    assert mount.write_control(token, "token") is None
    job = jobs.Job(mount)
    again = job.read(names[HALF:])
    assert again[:ahead] == seen[HALF:]
    expected = jobs.whole(source)
    assert collections.Counter(seen[:HALF] + again) == expected
    assert collections.Counter(job.read(jobs.order(source, 1))) == expected
    job.end()
    assert mount.view()["epoch"] == 1


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_job_had_read_all_before_it_died(mounts, source, folder, policy,
                                             ends):
    """It reads the rest again, and that is no new pass."""
    mount = mounts(source, jobs.options(policy, "auto", folder))
    names, seen = begin_second(mount, source, "auto")
    token = mount.read("token")
    rest = jobs.read(mount, names[HALF:])
    if ends:
        mount.kill()
        mount.start()
    assert mount.write_control(token, "token") is None, mount.read("error")
    assert mount.view()["consumed"] == len(names)
    job = jobs.Job(mount)
    assert job.read(names[HALF:]) == rest
    assert mount.view()["epoch"] == 1
    expected = jobs.whole(source)
    assert collections.Counter(seen + rest) == expected
    for epoch in (2, 3):
        again = job.read(jobs.order(source, epoch))
        assert collections.Counter(again) == expected
        assert mount.view()["epoch"] == epoch
    job.end()


@pytest.mark.parametrize("before, after", [(140, 190), (140, 200), (60, 120)])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_daemon_is_killed_after_a_job_went_on(mounts, source, folder,
                                                  policy, before, after):
    mount = mounts(source, jobs.options(policy, "auto", folder))
    names = jobs.order(source, 0)
    seen = jobs.read(mount, names[:before])
    token = mount.read("token")
    jobs.read(mount, names[before:after])
    assert mount.write_control(token, "token") is None, mount.read("error")
    job = jobs.Job(mount)
    seen += job.read(names[before:before + 20])
    mount.kill()
    mount.start()
    seen += job.read(names[before + 20:])
    expected = jobs.whole(source)
    assert collections.Counter(seen) == expected
    for epoch in range(1, 5):
        assert collections.Counter(job.read(names)) == expected
    job.end()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_does_not_skip_sees_each_sample_once(mounts, source, folder,
                                                        policy):
    mount = mounts(source, jobs.options(policy, "auto", folder))
    jobs.read(mount, jobs.order(source, 0)[:HALF])
    token = mount.read("token")
    mount.kill()
    mount.start()
    assert mount.write_control(token, "token") is None
    job = jobs.Job(mount)
    for epoch in (5, 6, 7):
        seen = job.read(jobs.order(source, epoch))
        assert collections.Counter(seen) == jobs.whole(source)
    job.end()


# [S-3.12q] What a line has no room for, shufflectl token --save DIR saves and
# --restore DIR brings back.
def test_more_than_a_line_holds(mounts, folder):
    source = trees.class_folders(folder / "source", 2, 4100,
                                 content=lambda rng, _: rng.randbytes(40))
    options = jobs.options("brand", "auto", folder)
    mount = mounts(source, options)
    names = jobs.order(source, 0)
    reads = len(names) // 2
    seen = jobs.read(mount, names[:reads])
    line = mount.read("token")
    saved = folder / "checkpoint"
    mount.run([harness.shufflectl(), "token", "--save", saved, mount.path])
    assert line.split()[:6] == (saved / "token").read_text().split()[:6]
    # Beside the same state the line is enough.
    mount.kill()
    mount.start()
    assert mount.write_control(line, "token") is None, mount.read("error")
    mount.unmount()
    other = fresh(mounts, source, options, folder, seed=3)
    assert "shown=" not in line
    assert other.write_control(line, "token") == errno.EINVAL
    assert "--save DIR" in other.read("error")
    other.run([harness.shufflectl(), "token", "--restore", saved, other.path])
    assert other.read("token").split()[:6] == line.split()[:6]
    seen += jobs.read(other, names[reads:])
    assert collections.Counter(seen) == jobs.whole(source)
    assert jobs.last_of(jobs.proven(other), 0)["consumed"] == len(names)


# [S-3.12r] A token that cannot be restored is refused, and error says why in
# one line.
def test_what_cannot_be_restored_is_refused(mounts, source, folder):
    options = {**jobs.options("lirs", "manual", folder), "lirs.unit": "page"}
    mount = mounts(source, options)
    mount.next_epoch()
    jobs.read(mount, jobs.order(source, 0)[:HALF])
    token = mount.read("token")
    other_data = trees.class_folders(folder / "other", seed=5)
    fields = token.split()
    cases = [
        (mounts(other_data, options), token, "dataset"),
        (fresh(mounts, source, options, folder, **{"lirs.page": "64KiB"}),
         token, "keys"),
        (mount, " ".join([fields[0], fields[1], *fields[3:6]]), "version"),
        (mount, token.replace(" 1 ", " 2 ", 1), "damaged"),
        (mount, token[:len(token) // 2], "token"),
        (mount, "no token at all\n", "first field"),
    ]
    for where, text, why in cases:
        before = where.read("token"), where.read("order")
        assert where.write_control(text, "token") == errno.EINVAL, why
        error = where.read("error")
        assert why in error and error.count("\n") == 1, error
        assert (where.read("token"), where.read("order")) == before


# [S-3.12s] A resumed epoch is no evidence of a client-side split.
@pytest.mark.parametrize("how", ["token", "crash"])
def test_a_resumed_epoch_raises_no_suspicion(mounts, source, folder, how):
    options = jobs.options("lirs", "auto", folder)
    mount = mounts(source, options)
    names = jobs.order(source, 0)
    jobs.read(mount, names[:HALF])
    token = mount.read("token")
    if how == "token":
        mount.unmount()
        mount = fresh(mounts, source, options, folder)
        assert mount.write_control(token, "token") is None
    else:
        mount.kill()
        mount.start()
    # Two that read other names one after the other, some left out.
    middle = (HALF + len(names)) // 2
    job = jobs.Job(mount)
    job.read(names[HALF:middle], own_thread=True)
    job.read(names[middle:-12], own_thread=True)
    for epoch in (1, 2):
        job.read(jobs.order(source, epoch))
    job.end()
    warnings = mount.view()["warnings"]
    assert not [line for line in warnings if "split" in line], warnings


def test_a_read_only_mount_gives_its_token(mounts, source, folder):
    options = {**jobs.options("lirs", "manual", folder), "ro": None}
    mount = mounts(source, options)
    assert mount.read("token").split()[1] == "lirs"
    assert mount.write_control(mount.read("token"), "token") is not None


# [S-3.12t] A job may go on with another number of ranks.
@pytest.mark.parametrize("layout, before, after", [("tree", 2, 3),
                                                   ("ranked", 3, 2)])
def test_another_number_of_ranks(mounts, source, folder, layout, before,
                                 after):
    policy = {"layout": layout} if layout == "ranked" else {}
    options = {**jobs.options("lirs", "manual", folder), **policy}
    mount = mounts(source, options)
    mount.next_epoch()
    position = 12 * 8  # whole batches of all ranks
    seen = ranks(mount, before, until=position)
    token = mount.read("token")
    mount.unmount()
    other = fresh(mounts, source, options, folder, seed=4)
    assert other.write_control(token, "token") is None, other.read("error")
    assert (other.view()["epoch"], other.view()["seed"]) == (1, 0)
    seen += ranks(other, after, position=position)
    assert collections.Counter(seen) == jobs.whole(source)


def ranks(mount, count, **more):
    words = [word for key, value in more.items()
             for word in (f"--{key}", value)]
    seen = mount.client("resume_ranks.py", mount.path, "--ranks", count,
                        "--epoch", 1, *words, timeout=120)
    return [(label, digest) for label, digest in seen]


def test_a_token_in_parts(mounts, source, folder):
    """As shufflectl writes one that is longer than a write can be."""
    options = jobs.options("lirs", "manual", folder)
    mount = mounts(source, options)
    mount.next_epoch()
    jobs.read(mount, jobs.order(source, 0)[:HALF])
    token = mount.read("token")
    other = fresh(mounts, source, options, folder)
    half = len(token) // 2
    parts = [f"part 1 of 2\n{token[:half]}", f"part 2 of 2\n{token[half:]}"]
    assert other.write_control(parts[1], "token") == errno.EINVAL
    assert "out of order" in other.read("error")
    assert other.write_control(parts[0], "token") is None
    assert other.view()["epoch"] == 0
    assert other.write_control(parts[1], "token") is None
    assert other.read("token") == token
