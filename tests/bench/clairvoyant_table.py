# SPDX-License-Identifier: Apache-2.0
"""The tables of what clairvoyant.py measured: throughput beside the raw
directory's of the same rounds, how orders were recognised, and the harm done
where there is nothing to recognise."""
import statistics

import measure
from clairvoyant_runs import UNSEARCHED, known, later

IMAGENET = 1_280_000  # files
# (profile, workers): times raw; and of the device, which is enough as well.
TARGETS = {("nas", 2): (3.0, None), ("nas", 4): (2.5, 0.9),
           ("hdd", 4): (1.4, None)}
CACHED_TARGET, HARM_TARGET, WASTE_TARGET = 0.95, 0.95, 0.05


def header(*columns):
    measure.row(*columns)
    print("|---" * len(columns) + "|")


def text(values, form, scale=1.0):
    """Median and spread of what is known."""
    some = [value * scale for value in values if value is not None]
    if not some:
        return "-"
    middle, spread = measure.median_mad(some)
    return f"{form} ± {form}".format(middle, spread)


def rate(passes):
    """Samples a second of a pass in the middle."""
    return statistics.median(one["samples"] / one["seconds"]
                             for one in passes)


def share(part, whole):
    return None if not whole else part / whole


def verdict(met):
    return "met" if met else "**missed**"


def told(jobs, key):
    """All that the entries of `jobs` say under a key, each once."""
    return ", ".join(dict.fromkeys(str(job[key]) for job in jobs)) or "-"


def ratios(entry, of=later):
    return [rate(of(mount)) / rate(of(raw))
            for raw, mount in zip(entry["raw"], entry["mount"])]


def after_search(raw, mount):
    """Against raw, what was read in the first epoch once a search in it had
    ended; None where none did. The search began a little after the epoch, so
    that is a little too low."""
    first, status = mount["passes"][0], mount["status"][1]
    found = [job for job in status["jobs"]
             if job["recognised_epochs"] and job["search_seconds"]]
    if not found:
        return None
    seconds = first["seconds"] - found[0]["search_seconds"]
    return status["opens"] / seconds / rate(raw["passes"][:1])


def target_text(entry, of_device):
    bar = TARGETS.get((entry["profile"], entry["workers"]))
    # A trial that fits in memory is not held against it.
    if bar is None or entry["bytes"] < 3 * entry["limit"]:
        return "-"
    # Of a random sampler it counts from where its seed was found.
    found = [each for each in map(after_search, entry["raw"], entry["mount"])
             if each is not None] if entry["sampler"] == "random" else []
    faster = statistics.median(found or ratios(entry))
    when = (f" from the search on, in {len(found)} of {len(entry['mount'])} "
            "rounds" if found else "")
    met = faster >= bar[0] or (bar[1] is not None and of_device >= bar[1])
    either = f" or {bar[1]:g} of the device" if bar[1] is not None else ""
    return f"≥ {bar[0]:g}x{either}{when} {verdict(met)}"


def name(entry):
    return (f"{entry['profile']}, {entry['sampler']}, "
            f"{entry['workers']} workers")


def print_speed(entries):
    print("\nSamples a second; *later*: epochs after the first, and of the "
          "mount those that\nbegan when an order had been recognised "
          "before:\n")
    header("case", "first, raw", "first, mount", "first against raw",
           "later, raw", "later, mount", "later against raw",
           "of the device", "target")
    for entry in entries:
        def first(job):
            return job["passes"][:1]

        cells = []
        for of in (first, later):
            cells += [text([rate(of(job)) for job in entry[what]], "{:.0f}")
                      for what in ("raw", "mount")]
            cells.append(f"**{text(ratios(entry, of), '{:.2f}x')}**")
        mean = entry["bytes"] / entry["files"]
        device = [rate(later(job)) * mean / entry["device"]
                  for job in entry["mount"]]
        measure.row(name(entry), *cells, text(device, "{:.2f}"),
                    target_text(entry, statistics.median(device)))


def ready_share(job):
    """Of the opens in the later passes; the first has those before the order
    was known."""
    passes = later(job)
    begin, end = job["status"][-1 - len(passes)], job["status"][-1]
    return share(end["ready"] - begin["ready"], end["opens"] - begin["opens"])


def print_recognition(entries):
    print("\nWhat the mount says of it; *wasted* against all that the device "
          "gave:\n")
    header("case", "state", "order", "after opens", "evidence",
           "epochs recognised", "ready", "ready, later", "prefetched",
           "wasted")
    for entry in entries:
        mounts = entry["mount"]
        ends = [job["status"][-1] for job in mounts]
        each = [one for end in ends for one in end["jobs"]]
        measure.row(
            name(entry), told(each, "state"), told(each, "order"),
            text([one["after_opens"] for one in each], "{:.0f}"),
            told(each, "evidence"),
            " / ".join(f"{known(end)} of {len(job['passes'])}"
                       for end, job in zip(ends, mounts)),
            text([end["ready_share"] for end in ends], "{:.1%}"),
            text([ready_share(job) for job in mounts], "{:.1%}"),
            text([end["prefetched_bytes"] for end in ends], "{:.0f} MB", 1e-6),
            text([share(end["wasted_bytes"], job["read"])
                  for end, job in zip(ends, mounts)], "{:.1%}"))


def imagenet(raw, mount, search):
    """(share of an epoch of ImageNet that the search takes, speed of that
    epoch against raw): until it is found, as in the first epoch if that was
    over by then, or else as the raw directory."""
    first = mount["passes"][0]
    slow = (rate([first]) if search >= first["seconds"] else
            rate(raw["passes"][:1]))
    left = IMAGENET - search * slow
    if left <= 0:
        return 1.0, slow / rate(later(raw))
    seconds = search + left / rate(later(mount))
    return search / seconds, IMAGENET / seconds / rate(later(raw))


def print_search(entries):
    print(f"\nThe search; the last two for a first epoch of {IMAGENET:,} "
          "files, at these rates:\n")
    header("case", "seeds searched", "search", "of the first epoch",
           "from then on against raw", "began later epochs",
           "of ImageNet's epoch", "that against raw")
    for entry in entries:
        searches = [max(job["status"][-1]["jobs"], default=None,
                        key=lambda one: one["search_seconds"] or 0)
                    for job in entry["mount"]]
        rows = [(raw, mount, one) for raw, mount, one in
                zip(entry["raw"], entry["mount"], searches)
                if one and one["search_seconds"]]
        after = [after_search(raw, mount) for raw, mount, _ in rows]
        large = [imagenet(raw, mount, one["search_seconds"])
                 for raw, mount, one in rows]
        measure.row(
            name(entry),
            text([one["searched"] for _, _, one in rows], "{:.2e}"),
            text([one["search_seconds"] for _, _, one in rows], "{:.1f} s"),
            text([one["search_seconds"] / mount["passes"][0]["seconds"]
                  for _, mount, one in rows], "{:.0%}"),
            f"**{text(after, '{:.2f}x')}**",
            " / ".join(str(len(job["passes"]) - len(later(job)) + 1)
                       for job in entry["mount"]),
            text([each[0] for each in large], "{:.1%}"),
            text([each[1] for each in large], "{:.2f}x"))


def print_cached(entries):
    print("\nEverything in memory, samples a second:\n")
    header("workers", "raw", "native", "mount", "native against raw",
           "mount against native", "ready", "target")
    for entry in entries:
        raw, native, mount = zip(*entry["rates"])
        ratio = [m / n for m, n in zip(mount, native)]
        met = statistics.median(ratio) >= CACHED_TARGET
        measure.row(
            str(entry["workers"]), *(text(rates, "{:.0f}")
                                     for rates in (raw, native, mount)),
            text([n / r for n, r in zip(native, raw)], "{:.2f}x"),
            f"**{text(ratio, '{:.3f}x')}**",
            text([entry["status"].get("ready_share")], "{:.1%}"),
            f"≥ {CACHED_TARGET:g}x {verdict(met)}")


def wasted(job, since_minute):
    """Against what the device gave in that time; None without a prefetch."""
    if not job["status"]:
        return None
    before = job["minute"].get("wasted_bytes", 0) if since_minute else 0
    return share(job["status"]["wasted_bytes"] - before,
                 job["read_after" if since_minute else "read"])


def speed(job):
    return sum(one["samples"] for passes in job["passes"]
               for one in passes) / job["wall"]


def print_harm(entries):
    print("\nAgainst a native mount, samples a second; *wasted* against all "
          "that the device gave,\nand that after the first minute, where it "
          "took longer:\n")
    header("device", "job", "native", "mount", "against native", "took",
           "taken for", "prefetched", "wasted", "after a minute", "target")
    for entry in entries:
        mounts = entry["mount"]
        ratio = [speed(mount) / speed(native)
                 for native, mount in zip(entry["native"], mounts)]
        ends = [job["status"] for job in mounts]
        tail = [wasted(job, True) for job in mounts if job["long"]]
        waste = max((w for w in tail or [wasted(job, False) for job in mounts]
                     if w is not None), default=0)
        measure.row(
            entry["profile"], entry["job"],
            *(text([speed(job) for job in entry[what]], "{:.0f}")
              for what in ("native", "mount")),
            f"**{text(ratio, '{:.2f}x')}**",
            text([job["wall"] for job in mounts], "{:.0f} s"),
            told([one for end in ends for one in end.get("jobs", [])],
                 "order"),
            text([end.get("prefetched_bytes") for end in ends], "{:.0f} MB",
                 1e-6),
            text([wasted(job, False) for job in mounts], "{:.1%}"),
            text(tail, "{:.1%}"),
            f"≥ {HARM_TARGET:g}x "
            f"{verdict(statistics.median(ratio) >= HARM_TARGET)}, "
            f"≤ {WASTE_TARGET:.0%} wasted {verdict(waste <= WASTE_TARGET)}")


def print_unsearched(entries):
    """What the search costs, and what everything else does: each round."""
    print("\nWithout a search, samples a second, each round:\n")
    kinds = ("raw", "native", UNSEARCHED, "mount")
    header("case", *kinds, "without against native", "with against without")

    def mean(job):
        return (speed(job) if "wall" in job else
                sum(one["samples"] for one in job["passes"]) /
                sum(one["seconds"] for one in job["passes"]))

    for entry in entries:
        rates = {kind: [mean(job) for job in entry.get(kind, [])]
                 for kind in kinds}
        case = entry.get("job") or name(entry)
        measure.row(
            case, *(", ".join(f"{one:.0f}" for one in rates[kind]) or "-"
                    for kind in kinds),
            *(text([a / b for a, b in zip(rates[one], rates[other])],
                   "{:.2f}x")
              for one, other in ((UNSEARCHED, "native"),
                                 ("mount", UNSEARCHED))))


def print_all(measured):
    def of(part):
        return [entry for entry in measured if entry["part"] == part]

    speeds = of("speed")
    if speeds:
        print_speed(speeds)
    clairvoyant = [entry for entry in speeds
                   if all(job["status"][-1] for job in entry["mount"])]
    if clairvoyant:
        print_recognition(clairvoyant)
    searched = [entry for entry in clairvoyant
                if entry["sampler"] == "random"]
    if searched:
        print_search(searched)
    if of("cached"):
        print_cached(of("cached"))
    if of("harm"):
        print_harm(of("harm"))
    unsearched = [entry for entry in measured if entry.get(UNSEARCHED)]
    if unsearched:
        print_unsearched(unsearched)
