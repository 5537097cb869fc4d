// SPDX-License-Identifier: Apache-2.0
#include "core/readers/job_tracker.h"

#include <unistd.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"

namespace shufflefs {
namespace {

constexpr int kMaxClimb = 32;
constexpr size_t kMaxAnchors = 64;

// Programs that start the ranks of one job in separate process groups.
constexpr absl::string_view kLauncherNames[] = {
    "aprun",   "flux-broker",   "flux-shell", "hydra_pmi_proxy", "jsrun",
    "mpiexec", "mpiexec.hydra", "mpirun",     "orted",           "orterun",
    "palsd",   "prte",          "prted",      "prterun",         "slurmstepd",
};

// Programs whose children are unrelated.
constexpr absl::string_view kManagers[] = {
    "atd",
    "catatonit",
    "conmon",
    "containerd-shim",
    "containerd-shim-runc-v2",
    "cron",
    "crond",
    "docker-init",
    "dumb-init",
    "init",
    "runsv",
    "runsvdir",
    "s6-supervise",
    "s6-svscan",
    "screen",
    "systemd",
    "tini",
    "tmux",
};

template <size_t n>
bool IsOneOf(const absl::string_view (&names)[n],
             absl::string_view executable) {
  const size_t slash = executable.rfind('/');
  if (slash != absl::string_view::npos) executable.remove_prefix(slash + 1);
  return std::find(std::begin(names), std::end(names), executable) !=
         std::end(names);
}

absl::optional<uint64_t> StartOf(const ProcessTable& processes, uint32_t id) {
  const absl::optional<ProcessStat> stat = processes.Stat(id);
  if (!stat) return absl::nullopt;
  return stat->start;
}

}  // namespace

JobTracker::JobTracker(std::string proc)
    : JobTracker(std::move(proc), Limits()) {}

JobTracker::JobTracker(std::string proc, Limits limits)
    : processes_(std::move(proc)),
      limits_(limits),
      start_(StartOf(processes_, static_cast<uint32_t>(::getpid()))) {}

JobId JobTracker::Resolve(uint32_t id, std::chrono::milliseconds now) {
  if (const auto cached = Cached(id, now)) return *cached;
  MutexLock slow(slow_mu_);
  const auto stat = processes_.Stat(id);
  absl::optional<Reader> known;
  {
    MutexLock lock(cache_mu_);
    const auto it = readers_.find(id);
    if (it != readers_.end()) known = it->second;
  }
  if (!stat || (known && stat->zombie)) {
    // The process ended while it waited for this answer, or before anybody
    // asked.
    return known ? known->job : kHiddenJob;
  }
  Reader reader;
  reader.start = stat->start;
  reader.group = stat->group;
  reader.executable = processes_.Executable(id);
  reader.checked = now;
  // The same program continues in the same group. It stays in its job, even
  // if the launcher above it is gone by now.
  const bool same = known && known->start == reader.start &&
                    known->group == reader.group &&
                    known->executable == reader.executable;
  reader.loader = same ? known->loader : StarterOf(id, reader.executable);
  reader.job =
      same ? known->job
           : Join(Climb(id, *stat, reader.executable), reader.executable);
  const JobId job = reader.job;
  Remember(id, std::move(reader));
  return job;
}

uint32_t JobTracker::LoaderOf(uint32_t id, std::chrono::milliseconds now) {
  Resolve(id, now);
  MutexLock lock(cache_mu_);
  const auto it = readers_.find(id);
  return it == readers_.end() ? 0 : it->second.loader.id;
}

JobTracker::Processes JobTracker::ProcessesOf(uint32_t id) const {
  if (id == 0) return {};
  const uint32_t own = processes_.ProcessOf(id);
  const auto stat = processes_.Stat(own);
  return {own, StarterOf(id, processes_.Executable(own)).id,
          stat ? stat->start : 0};
}

bool JobTracker::IsGone(uint32_t id) const {
  if (id == 0) return false;
  const auto stat = processes_.Stat(id);
  return !stat || stat->zombie;
}

JobTracker::Process JobTracker::StarterOf(uint32_t id,
                                          const std::string& executable) const {
  const uint32_t process = processes_.ProcessOf(id);
  const auto stat = processes_.Stat(process);
  if (!stat) return {process, 0};
  if (!executable.empty() &&
      processes_.Executable(stat->parent) == executable) {
    const auto parent = processes_.Stat(stat->parent);
    return {stat->parent, parent ? parent->start : 0};
  }
  return {process, stat->start};
}

absl::optional<JobId> JobTracker::Cached(uint32_t id,
                                         std::chrono::milliseconds now) {
  MutexLock lock(cache_mu_);
  if (id == 0) {
    hidden_seen_ = now;
    hidden_known_ = true;
    return kHiddenJob;
  }
  const auto it = readers_.find(id);
  if (it == readers_.end() || now - it->second.checked >= kValid) {
    return absl::nullopt;
  }
  return it->second.job;
}

// Climbs from the reader to the top of its process group, and on to its
// parent's group if that is part of the job.
JobTracker::Root JobTracker::Climb(uint32_t id, const ProcessStat& stat,
                                   const std::string& executable) const {
  Root root{stat.group, {}};
  Process top{id, stat.start};
  // The reading thread may end before its process does.
  const uint32_t process = processes_.ProcessOf(id);
  if (const auto whole = processes_.Stat(process); process != id && whole) {
    top = {process, whole->start};
  }
  uint32_t parent = stat.parent;
  for (int step = 0; step < kMaxClimb && parent > 1; ++step) {
    const auto above = processes_.Stat(parent);
    if (!above || above->zombie) break;
    if (above->group != root.group) {
      const std::string starter = processes_.Executable(parent);
      const bool same = !executable.empty() && starter == executable;
      if (!same && !IsOneOf(kLauncherNames, starter)) {
        // Its siblings belong to its job. The shell or raylet that started them
        // outlives the job, so it is no anchor.
        if (!executable.empty() && !IsOneOf(kManagers, starter) &&
            processes_.Executable(top.id) == executable) {
          root.group = parent;
        }
        break;
      }
      root.anchors.push_back(top);
      root.group = above->group;
    }
    top = {parent, above->start};
    parent = above->parent;
  }
  root.anchors.push_back(top);
  return root;
}

JobId JobTracker::Join(const Root& root, const std::string& executable) {
  const Key key{root.group, executable};
  const auto it = by_key_.find(key);
  if (it != by_key_.end()) {
    Job& job = jobs_[it->second.value()];
    // If none of them is left, the number of the group was reused.
    if (Lives(it->second, job)) {
      Anchor(job, root.anchors);
      return it->second;
    }
  }
  if (jobs_.size() >= limits_.jobs) DropDeadJobs();
  const JobId fresh{next_job_++};
  Job job{key, {}, false};
  Anchor(job, root.anchors);
  jobs_[fresh.value()] = std::move(job);
  by_key_[key] = fresh;
  return fresh;
}

void JobTracker::Anchor(Job& job, const std::vector<Process>& anchors) {
  for (const Process& anchor : anchors) {
    job.older |= start_ && anchor.start <= *start_;
    if (absl::c_linear_search(job.anchors, anchor)) continue;
    if (job.anchors.size() >= kMaxAnchors) {
      std::erase_if(job.anchors,
                    [this](const Process& each) { return !IsAlive(each); });
    }
    // If so many live, one more says no more.
    if (job.anchors.size() < kMaxAnchors) job.anchors.push_back(anchor);
  }
}

bool JobTracker::Lives(JobId id, Job& job) {
  if (AnyAlive(job.anchors)) return true;
  absl::flat_hash_set<Process> loaders;
  {
    MutexLock lock(cache_mu_);
    for (const auto& [each, reader] : readers_) {
      if (reader.job == id) loaders.insert(reader.loader);
    }
  }
  std::vector<Process> alive;
  for (const Process& loader : loaders) {
    if (alive.size() < kMaxAnchors && IsAlive(loader)) alive.push_back(loader);
  }
  if (alive.empty()) return false;
  job.anchors = std::move(alive);
  return true;
}

bool JobTracker::IsAlive(const Process& process) const {
  const auto stat = processes_.Stat(process.id);
  return stat && !stat->zombie && stat->start == process.start;
}

bool JobTracker::AnyAlive(const std::vector<Process>& anchors) const {
  return absl::c_any_of(
      anchors, [this](const Process& anchor) { return IsAlive(anchor); });
}

void JobTracker::DropDeadJobs() {
  absl::flat_hash_map<Process, std::vector<JobId>> loaders;
  {
    MutexLock lock(cache_mu_);
    for (const auto& [each, reader] : readers_) {
      loaders[reader.loader].push_back(reader.job);
    }
  }
  absl::flat_hash_set<JobId> reading;
  for (const auto& [loader, jobs] : loaders) {
    if (IsAlive(loader)) reading.insert(jobs.begin(), jobs.end());
  }
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (reading.contains(JobId(it->first)) || AnyAlive(it->second.anchors)) {
      ++it;
      continue;
    }
    const auto named = by_key_.find(it->second.key);
    if (named != by_key_.end() && named->second.value() == it->first) {
      by_key_.erase(named);
    }
    jobs_.erase(it++);
  }
}

void JobTracker::Remember(uint32_t id, Reader reader) {
  MutexLock lock(cache_mu_);
  if (readers_.size() >= limits_.readers && !readers_.contains(id)) {
    const auto oldest = reader.checked - kValid;
    for (auto it = readers_.begin(); it != readers_.end();) {
      if (it->second.checked < oldest) {
        readers_.erase(it++);
      } else {
        ++it;
      }
    }
    if (readers_.size() >= limits_.readers) readers_.clear();
  }
  readers_[id] = std::move(reader);
}

bool JobTracker::Alive(JobId job, std::chrono::milliseconds now) {
  {
    MutexLock lock(cache_mu_);
    if (job == kHiddenJob) {
      return hidden_known_ && now - hidden_seen_ < kHiddenAlive;
    }
    const auto it = alive_.find(job.value());
    if (it != alive_.end() && now - it->second.checked < kAliveValid) {
      return it->second.alive;
    }
  }
  MutexLock slow(slow_mu_);
  const auto it = jobs_.find(job.value());
  const bool alive = it != jobs_.end() && Lives(job, it->second);
  MutexLock lock(cache_mu_);
  if (alive_.size() >= limits_.jobs) alive_.clear();
  alive_[job.value()] = {alive, now};
  return alive;
}

bool JobTracker::IsYounger(JobId job) {
  MutexLock slow(slow_mu_);
  const auto it = jobs_.find(job.value());
  return start_ && it != jobs_.end() && !it->second.older;
}

}  // namespace shufflefs
