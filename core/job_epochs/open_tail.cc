// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/open_tail.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace shufflefs {
namespace {

constexpr size_t kMost = 16384;

bool IsFresh(const OpenTail::Open& open) { return open.fresh; }

}  // namespace

void OpenTail::Add(const Open& open) {
  opens_.push_back(open);
  if (opens_.size() > kMost) opens_.pop_front();
}

OpenTail::Time OpenTail::LastFresh() const {
  const auto last = std::find_if(opens_.rbegin(), opens_.rend(), IsFresh);
  return last == opens_.rend() ? Time(0) : last->came;
}

std::vector<uint64_t> OpenTail::BeforeLastFresh(Time before) const {
  std::vector<uint64_t> names;
  const auto last = std::find_if(opens_.rbegin(), opens_.rend(), IsFresh);
  for (auto open = last;
       open != opens_.rend() && open->came >= last->came - before; ++open) {
    names.push_back(open->name);
  }
  return names;
}

std::map<uint32_t, std::vector<uint64_t>> OpenTail::ByNode(
    const EpochDetector& detector) const {
  std::map<uint32_t, std::vector<uint64_t>> opened;
  absl::flat_hash_set<uint64_t> known;
  for (auto open = opens_.rbegin();
       open != opens_.rend() && known.size() < detector.seen_count(); ++open) {
    if (!detector.seen(open->name) || !known.insert(open->name).second) {
      continue;
    }
    opened[open->node].push_back(open->name);
  }
  return opened;
}

std::vector<bool> OpenTail::OpenedBy(uint32_t node, uint64_t names,
                                     const EpochDetector& detector) const {
  std::vector<bool> opened(names);
  if (opens_.size() >= kMost) {
    detector.ForEachSeen([&](uint64_t name) { opened[name] = true; });
  }
  for (const Open& open : opens_) {
    if (open.node == node && detector.seen(open.name)) opened[open.name] = true;
  }
  return opened;
}

}  // namespace shufflefs
