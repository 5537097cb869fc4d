# SPDX-License-Identifier: Apache-2.0
"""The callbacks for Lightning and Keras, called as those frameworks do.

Neither is a package of Debian. A module of their name stands in for each; what
real ones do was tried by hand (docs/frameworks.md).
"""
import importlib
import os
import sys
import types

import pytest

import harness
import shufflefs
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 3, 10)


@pytest.fixture
def view(mounts, source):
    return shufflefs.attach(mounts(source, MANUAL).path)


def imported(monkeypatch, name, **modules):
    """shufflefs.<name>, beside these modules and no others of their kind."""
    for other in ("lightning", "lightning.pytorch", "pytorch_lightning",
                  "keras"):
        monkeypatch.setitem(sys.modules, other, None)
    for other, module in modules.items():
        monkeypatch.setitem(sys.modules, other.replace("__", "."), module)
    monkeypatch.delitem(sys.modules, f"shufflefs.{name}", raising=False)
    return importlib.import_module(f"shufflefs.{name}")


@pytest.fixture
def lightning(monkeypatch):
    base = type("Callback", (), {})
    package = types.ModuleType("lightning.pytorch")
    package.Callback = base
    module = imported(monkeypatch, "lightning",
                      lightning=types.ModuleType("lightning"),
                      lightning__pytorch=package)
    assert issubclass(module.ShufflefsCallback, base)
    return module.ShufflefsCallback


@pytest.fixture
def keras(monkeypatch):
    base = type("Callback", (), {})
    package = types.ModuleType("keras")
    package.callbacks = types.SimpleNamespace(Callback=base)
    module = imported(monkeypatch, "keras", keras=package)
    assert issubclass(module.ShufflefsKerasCallback, base)
    return module.ShufflefsKerasCallback


class Refreshed:
    """Notes in which epoch it was refreshed."""

    def __init__(self, view):
        self.view, self.epochs = view, []

    def refresh(self):
        self.epochs.append(self.view.epoch)


class Trainer:
    """Calls hooks in Lightning's order."""

    def __init__(self, local_rank=0, metrics=None):
        self.local_rank, self.current_epoch = local_rank, 0
        self.callback_metrics = metrics or {}
        self.barriers = 0
        self.strategy = self

    def barrier(self, name=None):
        self.barriers += 1

    def begin(self, callback, epoch=0, state=None, late=None):
        if state is not None:
            callback.load_state_dict(state)
        callback.on_fit_start(self, None)
        if late is not None:
            callback.load_state_dict(late)
        self.current_epoch = epoch  # a checkpoint's is known only now
        callback.on_train_start(self, None)

    def fit(self, callback, epochs, read=lambda: None):
        for self.current_epoch in epochs:
            read()
            callback.on_train_epoch_end(self, None)


def test_lightning_keeps_the_mount_in_its_epoch(view, lightning):
    refreshed = Refreshed(view)
    callback = lightning(view, refresh=[refreshed])
    trainer = Trainer()
    view.set_epoch(6)  # an earlier training's
    trainer.begin(callback)
    assert refreshed.epochs == [0]
    seen = []
    trainer.fit(callback, range(3), read=lambda: seen.append(view.epoch))
    assert seen == [0, 1, 2] and view.epoch == 3
    assert refreshed.epochs == [0, 1, 2, 3]
    assert trainer.barriers == 2 + 3 * 2


def test_lightning_does_not_begin_an_epoch_twice(view, lightning):
    """What was read of it would be forgotten."""
    callback, trainer = lightning(str(view.path)), Trainer()
    name = next(iter(trees.contents(view.epoch_path(0))))
    with open(os.path.join(view, name), "rb") as file:
        file.read()
    trainer.begin(callback)
    assert view.status()["views"][0]["epoch_verdict"] != "signal"
    trainer.fit(callback, [0])
    assert view.status()["views"][0]["epoch_verdict"] == "signal"


def test_lightning_goes_on_from_a_checkpoint(mounts, source, view, lightning):
    callback, trainer = lightning(view), Trainer()
    trainer.begin(callback)
    trainer.fit(callback, range(2))
    state = callback.state_dict()
    other = shufflefs.attach(mounts(source, {**MANUAL, "seed": 9}).path)
    again, refreshed = Trainer(), Refreshed(other)
    resumed = lightning(other, refresh=[refreshed])
    again.begin(resumed, epoch=2, state=state)
    assert other.epoch == 2 and refreshed.epochs == [2]
    assert trees.contents(other) == trees.contents(view)
    again.fit(resumed, [2])
    assert other.epoch == 3


def test_lightning_follows_a_checkpoint_without_a_token(view, lightning):
    callback, trainer = lightning(view, token=False), Trainer()
    trainer.begin(callback, epoch=5, state={})
    assert view.epoch == 5 and callback.state_dict() == {}


def test_lightning_takes_a_checkpoint_that_comes_late(mounts, source, view,
                                                      lightning):
    """As strategies do that restore after on_fit_start."""
    saved = shufflefs.attach(mounts(source, {**MANUAL, "seed": 9}).path)
    saved.set_epoch(4)
    callback, trainer = lightning(view), Trainer()
    trainer.begin(callback, epoch=4, late={"token": saved.token()})
    assert view.epoch == 4
    assert view.status()["views"][0]["seed"] == 9, "was not restored"


def test_lightning_leaves_a_mount_that_has_advanced_by_itself(view, lightning):
    callback, trainer = lightning(view), Trainer()
    trainer.begin(callback)
    view.next_epoch()
    trainer.fit(callback, [0])
    assert view.epoch == 1


def test_lightning_moves_an_existing_mount_by_one_rank(source, view, folder,
                                                       lightning):
    first, second = lightning(view), lightning(view)
    for rank, callback in enumerate((first, second)):
        Trainer(local_rank=rank).begin(callback)
    Trainer(local_rank=1).fit(second, [0])
    assert view.epoch == 0 and second.state_dict() == {}
    Trainer(local_rank=0).fit(first, [0])
    assert view.epoch == 1
    state = first.state_dict()
    view.next_epoch()
    Trainer(local_rank=1).begin(second, epoch=1, state=state)
    assert view.epoch == 2, "the other rank restores"
    # A rank that mounted for itself moves its own mount.
    (folder / "mnt").mkdir()
    with shufflefs.mount(source, folder / "mnt", MANUAL,
                         state=folder / "state") as own:
        third, trainer = lightning(own), Trainer(local_rank=1)
        trainer.begin(third)
        trainer.fit(third, [0])
        assert own.epoch == 1


@pytest.fixture
def met(mounts, source, folder, monkeypatch):
    """A mount that takes losses, and those that it was told."""
    (folder / "tier").mkdir()
    mount = mounts(source, {**MANUAL, "policy": "met", "met.epochs": 4,
                            "tier.path": folder / "tier",
                            "met.adapt": "score"})
    told = []
    tell = shufflefs.Mount.feedback
    monkeypatch.setattr(
        shufflefs.Mount, "feedback",
        lambda self, loss: (told.append(loss), tell(self, loss)))
    return shufflefs.attach(mount.path), told


def test_lightning_reports_the_loss(met, lightning, caplog):
    view, told = met
    callback = lightning(view, feedback="val_loss")
    trainer = Trainer(metrics={"val_loss": 0.531})
    trainer.begin(callback)
    trainer.fit(callback, [0])
    trainer.callback_metrics = {"val_loss": float("nan")}
    trainer.fit(callback, [1])
    assert (told, view.epoch, caplog.text) == ([0.531], 2, "")
    trainer.callback_metrics = {"loss": 1.0}
    trainer.fit(callback, [2, 3])
    assert told == [0.531] and view.epoch == 4
    assert caplog.text.count("no number 'val_loss'") == 1


def test_a_loss_that_is_refused_ends_no_training(view, lightning, caplog):
    callback = lightning(view, feedback="loss")
    trainer = Trainer(metrics={"loss": 1})
    trainer.begin(callback)
    trainer.fit(callback, [0, 1])
    assert view.epoch == 2
    assert caplog.text.count("no policy that runs here uses it") == 1


@pytest.mark.parametrize("loaded", ["lightning", "pytorch_lightning"])
def test_either_package_of_lightning_is_found(monkeypatch, loaded):
    base = type("Callback", (), {})
    package = types.ModuleType(loaded)
    package.Callback = base
    modules = {"pytorch_lightning": package}
    if loaded == "lightning":
        modules = {"lightning": types.ModuleType("lightning"),
                   "lightning__pytorch": package}
    module = imported(monkeypatch, "lightning", **modules)
    assert issubclass(module.ShufflefsCallback, base)


def test_without_the_framework_its_module_alone_fails(monkeypatch):
    for name in ("lightning", "keras"):
        with pytest.raises(ImportError):
            imported(monkeypatch, name)
        sys.modules.pop(f"shufflefs.{name}", None)
    assert shufflefs.RankedFolder


def test_keras_keeps_the_mount_in_its_epoch(view, keras):
    refreshed = Refreshed(view)
    callback = keras(view, refresh=[refreshed])
    seen = []
    for epoch in range(4, 7):  # initial_epoch = 4
        callback.on_epoch_begin(epoch)
        seen.append(view.epoch)
        callback.on_epoch_end(epoch, {"loss": 1.0})
    assert seen == [4, 5, 6] and view.epoch == 7
    assert refreshed.epochs == [4, 5, 6, 7]


def test_keras_reports_the_loss(met, keras):
    view, told = met
    callback = keras(view, feedback="loss")
    callback.on_epoch_begin(0)
    callback.on_epoch_end(0, {"loss": 3})
    callback.on_epoch_begin(1)
    callback.on_epoch_end(1)
    assert told == [3.0] and view.epoch == 2


def test_keras_says_if_the_mount_is_gone(mounts, source, keras):
    mount = mounts(source, MANUAL)
    callback = keras(mount.path)
    mount.unmount()
    with pytest.raises(shufflefs.ShufflefsError, match=str(mount.path)):
        callback.on_epoch_end(0)
    assert harness.mount_types(mount.path) == []
