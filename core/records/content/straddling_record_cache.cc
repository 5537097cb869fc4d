// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/straddling_record_cache.h"

namespace shufflefs {
namespace {

// Returns the cost of a piece. It includes its slot in the table, which may be
// half empty, and the overhead of the allocator.
uint64_t Cost(const std::string& piece) {
  return piece.capacity() + 2 * (sizeof(piece) + 2 * sizeof(uint64_t)) + 16;
}

}  // namespace

void StraddlingRecordCache::Keep(uint64_t file, uint64_t from,
                                 std::string piece) {
  const uint64_t cost = Cost(piece);
  MutexLock lock(mu_);
  if (bytes_ + cost > most_) return;
  if (pieces_.try_emplace(Key(file, from), std::move(piece)).second) {
    bytes_ += cost;
  }
}

absl::optional<std::string> StraddlingRecordCache::Take(uint64_t file,
                                                        uint64_t from,
                                                        uint64_t bytes) {
  MutexLock lock(mu_);
  const auto found = pieces_.find(Key(file, from));
  if (found == pieces_.end() || found->second.size() != bytes) {
    return absl::nullopt;
  }
  bytes_ -= Cost(found->second);
  std::string piece = std::move(found->second);
  pieces_.erase(found);
  return piece;
}

void StraddlingRecordCache::Forget(const absl::flat_hash_set<uint64_t>& files) {
  MutexLock lock(mu_);
  for (auto it = pieces_.begin(); it != pieces_.end();) {
    const auto piece = it++;
    if (!files.contains(piece->first.first)) continue;
    bytes_ -= Cost(piece->second);
    pieces_.erase(piece);
  }
}

uint64_t StraddlingRecordCache::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

}  // namespace shufflefs
