// SPDX-License-Identifier: Apache-2.0
// CutsOf cuts a piece of a file that no single range of the tier holds, so that
// each part of it has one answer. CutPiece calls `done` when all parts have
// ended.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/pool/sample_source.h"
#include "core/staging/stager/staging_requests.h"
#include "core/staging/stager/tier_batches.h"
#include "core/staging/tier/tier_store.h"

namespace shufflefs {

// Positions in a file, ascending.
using TierCuts = absl::InlinedVector<uint64_t, 6>;

// All positions in `piece` where another range takes over, or where the source
// begins or ends to answer. The result is a hint: it may be outdated a moment
// later. A wanted range that is inside the piece and is nowhere yet is not cut,
// even if others in the tier share pages with it. So it comes from the source
// as a whole and can be kept. `requests` may be null.
TierCuts CutsOf(const FilePiece& piece, const TierBatches& batches,
                const TierStore& store, const StagingRequests* requests);

// The parts of the piece between `cuts`. When all of them have ended, its
// `done` is called with the first error. REQUIRES: cuts are multiples of
// kTierPage.
std::vector<FilePiece> CutPiece(FilePiece piece,
                                absl::Span<const uint64_t> cuts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_
