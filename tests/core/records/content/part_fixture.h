// SPDX-License-Identifier: Apache-2.0
// Plans of parts, and memory to lay them into.
#ifndef SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_PART_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_PART_FIXTURE_H_

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pool/memory/arena.h"
#include "core/random/random.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs::testing_support {

inline iovec Piece(std::string& bytes) { return {bytes.data(), bytes.size()}; }

// As an arena has them.
inline std::string WholePages(std::string bytes) {
  bytes.resize((bytes.size() + Arena::kPage - 1) / Arena::kPage * Arena::kPage);
  return bytes;
}

// Copies of random pieces of a file, by place; some touch, some do not.
inline PartPlan RandomPlan(uint64_t file_bytes, Rng& rng) {
  PartPlan plan;
  std::vector<PartCopy> copies;
  for (uint64_t at = rng.Bounded(9000); at < file_bytes;) {
    const uint64_t bytes = std::min(
        1 + rng.Bounded(rng.Bounded(3) == 0 ? 60000 : 500), file_bytes - at);
    copies.push_back({at, bytes, 0});
    at += bytes + (rng.Bounded(2) == 0 ? 0 : rng.Bounded(9000));
  }
  // They lie in the part the other way round.
  for (size_t i = 0; i < copies.size(); ++i) {
    PartCopy& copy = copies[copies.size() - 1 - i];
    copy.to = plan.bytes;
    plan.bytes += copy.bytes;
  }
  plan.copies = std::move(copies);
  return plan;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_RECORDS_CONTENT_PART_FIXTURE_H_
