#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with the limits that systemd sets for a unit.

  sandbox.py UNIT COMMAND...

Does what systemd does for the settings below, and refuses a unit that has
others of its kind. Device lists (DevicePolicy, DeviceAllow) need a manager.
"""
import errno
import os
import pathlib
import re
import subprocess
import sys

import seccomp

APPLIED = {"CapabilityBoundingSet", "NoNewPrivileges", "UMask",
           "SystemCallFilter", "SystemCallErrorNumber",
           "SystemCallArchitectures", "RestrictAddressFamilies",
           "RestrictNamespaces", "RestrictRealtime", "MemoryDenyWriteExecute",
           "LockPersonality"}
NOT_APPLIED = {"DevicePolicy", "DeviceAllow", "Type", "Environment",
               "EnvironmentFile", "ExecStart", "ExecStop", "Restart", "TimeoutStopSec"}
WRITE, EXECUTE = 2, 4  # of mmap and mprotect
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
NAMESPACES = 0x7E020080  # CLONE_NEWNS, NEWCGROUP ... NEWNET, NEWTIME
REAL_TIME = (1, 2)  # SCHED_FIFO, SCHED_RR


def settings(unit):
    """{key: value} of the section [Service]."""
    text = pathlib.Path(unit).read_text().split("[Service]")[1].split("\n[")[0]
    found = re.findall(r"^(\w+)=(.*)$", text, re.M)
    assert len(dict(found)) == len(found), "a key twice"
    return dict(found)


def calls(group):
    """The system calls of a group, by the list of systemd; or one by itself."""
    if group[0] != "@":
        return {group}
    text = subprocess.run(["systemd-analyze", "syscall-filter", group],
                          check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    names = re.findall(r"^ +(@?\w[\w-]*)$", text, re.M)
    found = {name for name in names if name[0] != "@"}
    for name in names:
        if name[0] == "@":
            found |= calls(name)
    return found


def allow(found, name, *conditions):
    try:
        found.add_rule(seccomp.ALLOW, name, *conditions)
    except (OSError, RuntimeError, ValueError):
        assert not conditions  # of another architecture


def masked(argument, mask, value):
    return seccomp.Arg(argument, seccomp.MASKED_EQ, mask, value)


def system_calls(unit):
    """The filter of all settings that are made of one."""
    assert unit["SystemCallErrorNumber"] == "EPERM"
    assert unit["SystemCallArchitectures"] == "native"
    for key in ("RestrictNamespaces", "RestrictRealtime", "LockPersonality",
                "MemoryDenyWriteExecute", "NoNewPrivileges"):
        assert unit[key] == "yes", key
    allowed = calls("@default")
    for group in unit["SystemCallFilter"].split():
        allowed |= calls(group)
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    apart = {"socket", "mmap", "mprotect", "pkey_mprotect", "shmat", "clone",
             "clone3", "unshare", "setns", "personality", "sched_setscheduler",
             "sched_setattr"}
    for name in sorted(allowed - apart):
        allow(rules, name)
    for family in unit["RestrictAddressFamilies"].split():
        allow(rules, "socket", seccomp.Arg(0, seccomp.EQ, FAMILIES[family]))
    for protection in (0, WRITE, EXECUTE):
        allow(rules, "mmap", masked(2, WRITE | EXECUTE, protection))
    allow(rules, "mprotect", masked(2, EXECUTE, 0))
    allow(rules, "clone", masked(0, NAMESPACES, 0))
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    for policy in (0, 3, 5):  # other, batch, idle
        allow(rules, "sched_setscheduler", seccomp.Arg(1, seccomp.EQ, policy))
    return rules


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    unit = settings(sys.argv[1])
    unknown = set(unit) - APPLIED - NOT_APPLIED
    assert not unknown, unknown
    os.umask(int(unit["UMask"], 8))
    if os.environ.get("SANDBOXED") is None:
        kept = ",".join("+" + name.removeprefix("CAP_").lower()
                        for name in unit["CapabilityBoundingSet"].split())
        os.environ["SANDBOXED"] = "by setpriv"
        os.execvp("setpriv", ["setpriv", f"--bounding-set=-all,{kept}",
                              "--no-new-privs", sys.executable, "-B",
                              *sys.argv])
    del os.environ["SANDBOXED"]
    system_calls(unit).load()
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
