// SPDX-License-Identifier: Apache-2.0
#include "core/readers/job_nodes.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

// Variables with the number of processes of a job, and of those on this node.
// If the latter is "", the former counts nodes. Innermost launchers first.
struct Launcher {
  absl::string_view all;
  absl::string_view here;  // "": `all` counts nodes
};
constexpr Launcher kLaunchers[] = {
    {"WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"GROUP_WORLD_SIZE", ""},
    {"HOROVOD_CROSS_SIZE", ""},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_STEP_NUM_NODES", ""},
    {"SLURM_NNODES", ""},
    {"SLURM_JOB_NUM_NODES", ""},
};

}  // namespace

std::string SeveralNodesText(absl::string_view environment) {
  absl::flat_hash_map<absl::string_view, uint32_t> numbers;
  for (const absl::string_view entry : absl::StrSplit(environment, '\0')) {
    const std::pair<absl::string_view, absl::string_view> variable =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    uint32_t number = 0;
    if (absl::SimpleAtoi(variable.second, &number)) {
      numbers[variable.first] = number;
    }
  }
  for (const Launcher& launcher : kLaunchers) {
    const auto all = numbers.find(launcher.all);
    if (all == numbers.end()) continue;
    const std::string text = absl::StrCat(launcher.all, "=", all->second);
    if (launcher.here.empty()) return all->second > 1 ? text : "";
    const auto here = numbers.find(launcher.here);
    if (here == numbers.end()) continue;
    if (all->second <= here->second) return "";
    return absl::StrCat(text, ", ", launcher.here, "=", here->second);
  }
  return "";
}

JobNodes::JobNodes(std::string proc) : processes_(std::move(proc)) {}

JobNodes::~JobNodes() {
  std::jthread thread;
  {
    MutexLock lock(mu_);
    ended_ = true;
    thread = std::move(thread_);
  }
  changed_.SignalAll();
}

std::string JobNodes::Of(uint32_t id, std::chrono::milliseconds now) {
  MutexLock lock(mu_);
  const auto known = readers_.find(id);
  if (known != readers_.end() && now - known->second.asked < kValid) {
    return known->second.text;
  }
  if (known == readers_.end() && readers_.size() >= kMostReaders) {
    readers_.clear();
    queue_.clear();
  }
  Reader& reader = readers_[id];
  reader.asked = now;
  queue_.push_back(id);
  if (!thread_.joinable()) {
    auto thread = TryStartThread(
        "sfs-nodes", [this](const std::stop_token& stop) { Run(stop); });
    if (thread) thread_ = *std::move(thread);
  }
  changed_.SignalOne();
  return reader.text;
}

void JobNodes::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    uint32_t id = 0;
    {
      MutexLock lock(mu_);
      while (queue_.empty() && !ended_) changed_.Wait(mu_);
      if (ended_) return;
      id = queue_.front();
      queue_.pop_front();
    }
    std::string text = SeveralNodesText(processes_.Environment(id));
    MutexLock lock(mu_);
    const auto reader = readers_.find(id);
    if (reader != readers_.end()) reader->second.text = std::move(text);
  }
}

}  // namespace shufflefs
