// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/record_shares.h"

#include <cstdint>

#include "core/base/status.h"
#include "core/pool/bypass_reads.h"

namespace shufflefs {
namespace {

constexpr uint64_t kStagingBytes = uint64_t{4} << 20;
constexpr uint64_t kSpareBytes = 2 * BypassReads::kLongestRead;
// Shares of the memory: of what finds pieces, and of `straddling`.
constexpr uint64_t kIndexOfMemory = 32;
constexpr uint64_t kPiecesOfMemory = 32;
constexpr uint64_t kMorePiecesOfMemory = 8;

}  // namespace

absl::StatusOr<RecordShares> RecordShares::Open(PoolMemory memory) {
  const uint64_t all = memory.guarantee;
  RecordShares shares;
  ASSIGN_OR_RETURN(shares.staging, memory.Reserve(kStagingBytes));
  ASSIGN_OR_RETURN(shares.spare, memory.Reserve(kSpareBytes));
  ASSIGN_OR_RETURN(shares.index, memory.Reserve(all / kIndexOfMemory));
  for (const uint64_t of : {kPiecesOfMemory, kMorePiecesOfMemory}) {
    const uint64_t bytes = all / of;
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

}  // namespace shufflefs
