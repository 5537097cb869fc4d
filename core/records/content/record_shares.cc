// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/record_shares.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/status.h"
#include "core/io/file_reader.h"
#include "core/pool/bypass_reads.h"
#include "core/records/content/straddling_record_cache.h"

namespace shufflefs {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{4} << 20;
constexpr uint64_t kSpareBytes = 2 * BypassReads::kLongestRead;
// Shares of the memory: of what finds pieces, and of `straddling`.
constexpr uint64_t kIndexOfMemory = 32;
constexpr uint64_t kPiecesOfMemory = 32;
constexpr uint64_t kMorePiecesOfMemory = 8;
constexpr uint64_t kMostWhole = uint64_t{64} << 20;

// Divides the bytes evenly among shares of whole pages.
absl::StatusOr<std::vector<std::unique_ptr<PoolShare>>> Divide(
    PoolMemory& memory, uint64_t bytes, size_t shares) {
  std::vector<std::unique_ptr<PoolShare>> all(shares);
  for (auto& share : all) {
    ASSIGN_OR_RETURN(share, memory.Reserve(RoundDown(bytes / shares)));
  }
  return all;
}

}  // namespace

RecordBudget RecordBudget::Of(uint64_t guarantee) {
  RecordBudget budget;
  budget.index = guarantee / kIndexOfMemory;
  budget.straddling = {guarantee / kPiecesOfMemory,
                       guarantee / kMorePiecesOfMemory};
  const uint64_t others =
      kStagingBytes + kSpareBytes + budget.index + budget.straddling_bytes();
  budget.parts = guarantee - std::min(guarantee, others);
  return budget;
}

uint64_t RecordBudget::whole_bytes() const {
  return std::min(largest_part(), kMostWhole);
}

uint64_t RecordBudget::most_pieces() const {
  return index / StraddlingRecordCache::kIndexBytes;
}

absl::StatusOr<RecordShares> RecordShares::Open(PoolMemory memory,
                                                size_t lanes) {
  const RecordBudget budget = RecordBudget::Of(memory.guarantee);
  RecordShares shares;
  ASSIGN_OR_RETURN(shares.staging, Divide(memory, kStagingBytes, lanes));
  ASSIGN_OR_RETURN(
      shares.spare,
      Divide(memory, kSpareBytes,
             std::min<size_t>(lanes, kSpareBytes / BypassReads::kLongestRead)));
  ASSIGN_OR_RETURN(shares.index, memory.Reserve(budget.index));
  for (const uint64_t bytes : budget.straddling) {
    memory.guarantee -= bytes;
    ASSIGN_OR_RETURN(
        shares.straddling.emplace_back(),
        memory.pool->Open(
            {.name = memory.name, .guarantee = bytes, .most = bytes}));
  }
  ASSIGN_OR_RETURN(
      shares.parts,
      memory.pool->Open({.name = memory.name, .guarantee = memory.guarantee}));
  return shares;
}

uint64_t RecordShares::bytes_of_buffers() const {
  uint64_t bytes = 0;
  for (const auto* const shares : {&staging, &spare}) {
    for (const auto& share : *shares) bytes += share->used();
  }
  return bytes;
}

}  // namespace shufflefs
