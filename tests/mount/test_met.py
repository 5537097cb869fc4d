# SPDX-License-Identifier: Apache-2.0
"""policy = met: mini-epochs from a faster tier, every sample as often as every
other over met.epochs."""
import collections
import json
import os
import random
import subprocess

import pytest

import harness
import trees
from met import (CLASSES, PER_CLASS, digest, names_of, options, read_all,
                 source, tier, verify, wait_staged, whole)


# [S-7.1e] Over met.epochs epochs each sample is shown as often as every other,
# one more or less.
def test_every_sample_comes_as_often_as_the_job_has_epochs(
        mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=6, met__repeat=3))
    names = names_of(source)
    shown = collections.Counter()
    for epoch in range(6):
        if epoch:
            mount.next_epoch()
        once = read_all(mount, names, epoch)
        assert set(once) <= set(whole(source)), "a wrong byte or label"
        shown += once
    assert shown == whole(source, 6)
    last = verify(mount)[-1]
    assert last["repeats"] and last["bijection"] is True
    assert (last["shown_fewest"], last["shown_most"]) == (6, 6)
    view = mount.view()
    assert view["mini_epoch"]["of"] > 1
    assert view["tier"]["tier_bytes"] > 0
    assert view["reproducible"] is False


# [S-7.1a] Nothing is repeated where met.epochs is not set, or is one.
def test_nothing_is_repeated_unless_the_epochs_are_known(mounts, source, tier):
    mount = mounts(source, options(tier, met__repeat=4))
    names = names_of(source)
    for epoch in range(3):
        if epoch:
            mount.next_epoch()
        assert read_all(mount, names, epoch) == whole(source)
    assert "because met.epochs" in mount.log()
    assert "met.epochs is not set" in mount.view()["mini_epoch"]["why"]


# [S-7.1f] A name keeps its sample for the epoch, in its own group, and outside
# of splits.
def test_a_name_keeps_its_sample_for_the_epoch(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=4))
    names = names_of(source)
    first = {name: digest(mount.path / name) for name in names}
    for name in reversed(names):
        path = mount.path / name
        assert digest(path) == first[name]
        assert path.stat().st_size == len(path.read_bytes())
    order = [line.split("\t") for line in
             (mount.control_dir / "order").read_text().splitlines()]
    assert len(order) == len(names)
    for _, name, sample in order:
        assert first[type(names[0])(name)] == digest(source / sample)


# Several names of an epoch show one sample, and every open is counted as that
# of its own name: else epochs would be held, and the same samples shown for
# ever.
def test_epochs_end_by_themselves_however_many_read(mounts, source, tier):
    mount = mounts(source, {**options(tier, met__epochs=8, met__repeat=4),
                            "epoch.advance": "auto"})
    names = names_of(source)
    shown = collections.Counter()
    for epoch in range(8):
        order = list(names)
        random.Random(epoch).shuffle(order)
        # A process each, as a framework's workers are.
        readers = [subprocess.Popen(
            ["sha256sum", *(mount.path / name for name in order[worker::4])],
            stdout=subprocess.PIPE, text=True) for worker in range(4)]
        for reader in readers:
            out, _ = reader.communicate(timeout=60 * harness.SLOWDOWN)
            shown.update(line[:16] for line in out.splitlines())
        view = mount.view()
        assert (view["epoch"], view["epoch_state"]) == (epoch, "running")
    assert sum(shown.values()) == 8 * len(names)
    assert len(shown) == len(names)
    # An open that was sent back already cannot be once more: of new processes
    # in epochs of less than a second some names are carried. For what so comes
    # once more others come once less, each but once.
    assert 7 <= min(shown.values()) and max(shown.values()) <= 12, shown
    last = verify(mount)[-1]
    assert (last["shown_fewest"], last["shown_most"]) == (
        min(shown.values()), max(shown.values()))


# What drop_last left out is not owed: each epoch is a pass of its own.
@pytest.mark.parametrize("capacity", ["6MiB", "64MiB"])
def test_an_epoch_after_one_that_left_names_out_shows_each_sample_once(
        mounts, source, tier, capacity):
    mount = mounts(source, options(tier, tier__capacity=capacity))
    names = names_of(source)
    for epoch in range(4):
        short = len(names) - (len(names) // 10 if epoch < 2 else 0)
        order = list(names)
        random.Random(epoch).shuffle(order)
        shown = {(name.parts[0], digest(mount.path / name))
                 for name in order[:short]}
        assert len(shown) == short, epoch
        mount.next_epoch()


# A reader in a fixed order opens the same names first in every epoch;
# their samples do not come in each.
@pytest.mark.parametrize("repeat", [1, 2, 8])
def test_readers_in_a_fixed_order_are_shown_each_as_often(
        mounts, source, tier, repeat):
    mount = mounts(source, {**options(tier, met__epochs=8, met__repeat=repeat),
                            "epoch.advance": "auto"})
    names = names_of(source)
    shown = collections.Counter()
    for epoch in range(8):
        for name in names:
            shown[name.parts[0], digest(mount.path / name)] += 1
        assert mount.view()["epoch"] == epoch
    assert len(shown) == len(names)
    assert set(shown.values()) == {8}, shown
    last = verify(mount)[-1]
    assert (last["shown_fewest"], last["shown_most"]) == (8, 8)


# The open that showed that an epoch has begun looked its name up again; what
# it was shown then is known after a crash.
def test_the_first_open_of_an_epoch_is_counted_as_what_it_showed(
        mounts, source, tier):
    mount = mounts(source, {**options(tier, met__epochs=4, met__repeat=4),
                            "epoch.advance": "auto"})
    names = names_of(source)
    shown = collections.Counter()
    for epoch in range(3):
        shown += collections.Counter((name.parts[0], digest(mount.path / name))
                                     for name in names)
    first = digest(mount.path / names[0])
    assert mount.view()["epoch"] == 3
    mount.kill()
    mount.start()
    assert mount.view()["epoch"] == 3
    assert digest(mount.path / names[0]) == first
    shown += collections.Counter((name.parts[0], digest(mount.path / name))
                                 for name in names)
    assert set(shown) == set(whole(source))
    assert 3 <= min(shown.values()) and max(shown.values()) <= 5
    last = verify(mount)[-1]
    assert (last["shown_fewest"], last["shown_most"]) == (
        min(shown.values()), max(shown.values()))


def test_a_stock_loader_trains_over_epochs_that_end_by_themselves(
        mounts, folder, tier):
    source = trees.train_and_val(folder / "source", 4, 60)
    mount = mounts(source, {**options(tier, met__epochs=4, met__repeat=2),
                            "epoch.advance": "auto"})
    epochs = mount.client("imagefolder.py", mount.path / "train", "--epochs", 4,
                          "--workers", 2, timeout=120)
    assert [len(epoch) for epoch in epochs] == [240] * 4
    shown = collections.Counter(content for epoch in epochs
                                for _, content, _ in epoch)
    assert len(shown) == 240
    # As above, of two workers.
    assert 3 <= min(shown.values()) and max(shown.values()) <= 6
    assert mount.view()["epoch"] == 3
    assert mount.view()["warnings"] == []


# [S-7.1g] What was copied is taken up by the next mount, after kill -9 too,
# and the epoch and the counts go on.
def test_kill_and_go_on(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2))
    names = names_of(source)
    random.Random(5).shuffle(names)
    shown = collections.Counter()
    bound = {}
    for name in names[:100]:
        bound[name] = digest(mount.path / name)
        shown[(name.parts[0], bound[name])] += 1
    wait_staged(mount)
    mount.kill()
    mount.start()
    assert mount.view()["tier"]["staged_bytes"] > 0
    for name in names[:100]:
        assert digest(mount.path / name) == bound[name]
    for name in names[100:]:
        shown[(name.parts[0], digest(mount.path / name))] += 1
    for epoch in range(1, 4):
        mount.next_epoch()
        shown += read_all(mount, names, epoch)
    assert set(shown) == set(whole(source))
    assert min(shown.values()) >= 3 and max(shown.values()) <= 5


def test_feedback_ends_repeating(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=16, met__adapt="score",
                                   met__repeat=8, met__patience=1))
    names = names_of(source)
    wait_staged(mount)
    for epoch in range(3):
        if epoch:
            mount.next_epoch()
        read_all(mount, names, epoch)
        harness.run([harness.shufflectl(), "feedback", mount.path, "1.5"])
    factors = json.loads((mount.state / "learnt").read_text())
    assert any(factor > 0 for entry in factors["learnt"]
               for factor in entry["factors"])


def test_feedback_is_refused_where_no_policy_takes_it(mounts, source):
    mount = mounts(source, {"policy": "lirs", "substitute": "directory"})
    done = harness.run([harness.shufflectl(), "feedback", mount.path, "1"],
                       check=False)
    assert done.returncode != 0
    assert "met" in (mount.control_dir / "error").read_text()


def test_status_says_where_it_stands(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2))
    wait_staged(mount)
    read_all(mount, names_of(source))
    out = harness.run([harness.shufflectl(), "status", mount.path]).stdout
    assert "mini-epoch" in out and "tier" in out
    metrics = (mount.control_dir / "metrics").read_text()
    assert "shufflefs_tier_bytes_total" in metrics


# Ranked names come mini-epoch by mini-epoch, in an order that is known.
def test_ranked_names_come_from_the_tier(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2,
                                   met__mini_epochs=8, layout="ranked"))
    shown = collections.Counter()
    for epoch in range(4):
        if epoch:
            mount.next_epoch()
        wait_staged(mount)
        names = sorted(os.listdir(mount.path))
        assert len(names) == CLASSES * PER_CLASS
        shown += collections.Counter(digest(mount.path / name)
                                     for name in names)
        fixed = sorted(os.listdir(mount.control_dir / "epoch" / str(epoch) /
                                  "ranked"))
        assert fixed == names, "an epoch by path is the live one's"
        last = verify(mount)[-1]
        assert last["bijection"] is True and last["shown_by_mount"] is True
    assert set(shown.values()) == {4}
    assert set(shown) == {content for _, content in whole(source)}
    view = mount.view()
    assert view["reproducible"] is True
    assert view["tier"]["tier_bytes"] > view["tier"]["source_bytes"]


# Without met.mini_epochs the order follows from the size of the tier. Under
# another size an epoch and its token would show other ranks.
def test_ranks_of_a_tier_of_another_size_are_another_order(mounts, source,
                                                           tier):
    def ranked():
        return sorted(os.listdir(mount.path))

    mount = mounts(source, options(tier, layout="ranked"))
    mount.next_epoch()
    names = ranked()
    token = (mount.control_dir / "token").read_text()
    last = verify(mount)[-1]
    assert last["bijection"] is True and last["shown_by_mount"] is True
    mount.kill()
    mount.start()
    assert mount.view()["epoch"] == 1 and ranked() == names
    mount.kill()
    mount.options["tier.capacity"] = "8MiB"
    mount.start()
    assert mount.view()["epoch"] == 0
    with pytest.raises(OSError):
        (mount.control_dir / "token").write_text(token)
    assert "tier.capacity" in (mount.control_dir / "error").read_text()
    mount.next_epoch()
    assert ranked() != names
    assert verify(mount)[-1]["shown_by_mount"] is True
    mount.kill()
    mount.options["tier.capacity"] = "6MiB"
    mount.start()
    (mount.control_dir / "token").write_text(token)
    assert mount.view()["epoch"] == 1 and ranked() == names


# Readers of ranked names tell by what they read where they are.
def test_copies_of_ranked_names_keep_up_through_an_epoch(mounts, source, tier):
    mount = mounts(source, options(tier, met__mini_epochs=6, layout="ranked"))
    names = sorted(os.listdir(mount.path))
    for begin in range(0, len(names), 40):
        wait_staged(mount)
        for name in names[begin:begin + 40]:
            digest(mount.path / name)
    wait_staged(mount)
    assert mount.view()["mini_epoch"]["number"] >= 4


def test_a_run_with_other_keys_goes_on_with_the_counts(mounts, source, tier):
    names = names_of(source)
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2))
    shown = read_all(mount, names)
    mount.next_epoch()
    shown += read_all(mount, names[:100], 1)
    mount.kill()
    mount.options.update({"met.repeat": 1, "epoch.start": 2})
    mount.start()
    # What the broken epoch had left, and two more.
    rest = list(names[100:]) + names + names
    for begin in range(0, len(rest), len(names)):
        mount.next_epoch()
        shown += read_all(mount, rest[begin:begin + len(names)], begin)
    assert sum(shown.values()) == 4 * len(names)
    assert min(shown.values()) >= 3 and max(shown.values()) <= 5


# Counts outlive a policy that does not count, and a kill under it.
def test_the_counts_outlive_another_policy_and_a_kill(mounts, source, tier):
    names = names_of(source)
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2,
                                   open="seen"))
    shown = read_all(mount, names)
    mount.next_epoch()
    shown += read_all(mount, names[:100], 1)
    for _ in range(2):  # the second time there is a ledger of lirs
        assert mount.write_control('policy = "lirs"\nepoch = "next"\n') is None
        mount.kill()
        mount.start()
        assert mount.view()["policy"] == "lirs"
        assert read_all(mount, names) == whole(source)
        mount.kill()
        mount.start()
    assert mount.write_control('policy = "met"\nepoch = "next"\n') is None
    rest = list(names[100:]) + names + names
    for begin in range(0, len(rest), len(names)):
        shown += read_all(mount, rest[begin:begin + len(names)], begin)
        mount.next_epoch()
    assert sum(shown.values()) == 4 * len(names)
    assert min(shown.values()) >= 3 and max(shown.values()) <= 5
