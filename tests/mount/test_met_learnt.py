# SPDX-License-Identifier: Apache-2.0
"""What met.adapt learnt of a job's losses is used by the next run."""
import json
import random

import pytest

import harness
from met import names_of, options, source, tier

FACTOR = 3
# By met.adapt = score the third one, which is no better, ends the repeating.
LOSSES = (1.0, 0.5, 0.7)


def adaptive(tier, model="one"):
    """Two mini-epochs, in a tier that holds both of any pass."""
    return options(tier, met__epochs=32, met__repeat=8, met__adapt="score",
                   met__patience=1, met__model=model, met__mini_epochs=2,
                   tier__capacity="64MiB")


def wait_copied(mount, source):
    size = sum((source / name).stat().st_size for name in names_of(source))
    harness.eventually(lambda: mount.view()["tier"]["staged_bytes"] >= size,
                       what="the whole dataset in the tier")


def mini_epochs(mount, names):
    """Reads on, from the next epoch's beginning, and yields where it stands."""
    for epoch in range(12):
        mount.next_epoch()
        order = list(names)
        random.Random(epoch).shuffle(order)
        for begin in range(0, len(order), 6):
            for name in order[begin:begin + 6]:
                (mount.path / name).read_bytes()
            yield mount.view()["mini_epoch"]


def learn(mount, names):
    """A job that tells losses, by either way, until a mini-epoch ended."""
    told = 0
    for mini in mini_epochs(mount, names):
        if (mini["pass"], mini["number"]) != (0, 0):
            return
        if told < mini["factor"]:
            loss = LOSSES[told]
            if told % 2:
                assert mount.write_control(f"feedback = {loss}\n") is None
            else:
                harness.run([harness.shufflectl(), "feedback", mount.path,
                             str(loss)])
            told += 1
    assert False, "the mini-epoch did not end"


def first_mini_epoch(mount, names):
    """Why a mini-epoch of a job that tells nothing came how often."""
    known, last = None, None
    for mini in mini_epochs(mount, names):
        if known not in (None, (mini["pass"], mini["number"])):
            # What ended it is told until the next one is decided about.
            return last["factor"], mini["why"]
        known, last = (mini["pass"], mini["number"]), mini
    assert False, "the mini-epoch did not end"


def kept(mount):
    """{model: factors} of the state directory."""
    file = json.loads((mount.state / "learnt").read_text())
    return {entry["model"]: entry["factors"] for entry in file["learnt"]}


# [S-7.1d] The factors that were learnt are kept by dataset, view and met.model,
# and a file of them that is damaged counts as empty.
@pytest.mark.parametrize("written", [(), (2, 1)], ids=["", "taken_back"])
def test_the_next_run_of_a_model_goes_by_what_this_one_learnt(
        mounts, source, tier, written):
    names = names_of(source)
    mount = mounts(source, adaptive(tier))
    wait_copied(mount, source)
    for patience in written:  # the last one is as it was, before an epoch began
        assert mount.write_control(f"met.patience = {patience}\n") is None
    learn(mount, names)
    mount.unmount()
    factors = kept(mount)
    assert list(factors) == ["one"] and factors["one"][0] == FACTOR

    mount.start()
    wait_copied(mount, source)
    assert first_mini_epoch(mount, names) == (
        FACTOR, f"{FACTOR}, as a former run learnt")
    mount.unmount()
    assert kept(mount) == factors, "a run that is told nothing learns nothing"

    # Of another model nothing is known.
    mount.options = {**adaptive(tier, "two"), "state": mount.state}
    mount.start()
    wait_copied(mount, source)
    assert first_mini_epoch(mount, names) == (8, "8, as met.repeat says")
    mount.unmount()

    # Nor of another dataset, which one more file makes it.
    (source / "c0" / "more.png").write_bytes(b"another")
    mount.options = {**adaptive(tier), "state": mount.state}
    mount.start()
    wait_copied(mount, source)
    assert first_mini_epoch(mount, names) == (8, "8, as met.repeat says")
    assert kept(mount) == factors


def test_what_was_learnt_and_is_damaged_counts_as_nothing(
        mounts, source, tier):
    names = names_of(source)
    mount = mounts(source, adaptive(tier))
    wait_copied(mount, source)
    learn(mount, names)
    mount.unmount()
    (mount.state / "learnt").write_text('{"format": ')
    mount.start()
    wait_copied(mount, source)
    assert "learnt repeating factors are dropped" in mount.log()
    assert str(mount.state / "learnt") in mount.log()
    assert first_mini_epoch(mount, names) == (8, "8, as met.repeat says")
