# SPDX-License-Identifier: Apache-2.0
"""A client that splits one folder by name would leak."""
import random

import trees

AUTO = {"policy": "lirs", "substitute": "directory", "epoch.advance": "auto"}


# [S-3.6a] Names that are never opened suspend substitution at the next
# boundary.
def test_names_that_are_never_opened_suspend_substitution(mounts, folder):
    source = trees.class_folders(folder / "source", per_class=100)
    files = trees.contents(source)
    mount = mounts(source, AUTO)
    training = sorted(files)
    random.Random(3).shuffle(training)
    training = training[:int(len(training) * 0.8)]
    for number in range(4):
        mount.client("read_names.py", mount.path, number, *training)
    warnings = str(mount.status()["warnings"] + mount.view()["warnings"])
    assert "client-side split suspected" in warnings
    mount.next_epoch()
    assert mount.view()["substitute"] == "never"
    assert trees.contents(mount.path) == files
    # A restart does not forget it.
    mount.kill()
    mount.start()
    assert "client-side split suspected" in str(mount.view()["warnings"])
    for _ in range(2):
        mount.next_epoch()
        assert trees.contents(mount.path) == files


# [S-3.6b] A job that reads every name is not suspected.
def test_a_job_that_reads_everything_is_not_suspected(mounts, folder):
    source = trees.class_folders(folder / "source", per_class=100)
    mount = mounts(source, AUTO)
    for number in range(3):
        mount.client("read_names.py", mount.path, number,
                     *sorted(trees.contents(source)))
    assert mount.status()["warnings"] == mount.view()["warnings"] == []
    assert mount.view()["substitute"] == "directory"
