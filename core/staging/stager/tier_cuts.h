// SPDX-License-Identifier: Apache-2.0
// A piece of a file that no range of the tier holds alone: where it is cut so
// that each part of it has one answer, and what is done when all of them came.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "core/pool/sample_source.h"
#include "core/staging/stager/tier_batches.h"
#include "core/staging/stager/tier_wishes.h"
#include "core/staging/tier/tier_store.h"

namespace shufflefs {

// Positions of a file, by size.
using TierCuts = absl::InlinedVector<uint64_t, 6>;

// All positions within `piece` where another range has the answer, or the
// source begins or ends to. A hint: what is there may be another a moment
// later. A wanted range that lies in the piece and is nowhere yet is not cut,
// also where others in the tier share pages with it, so that it comes from the
// source as a whole and can be kept. `wishes` may be null.
TierCuts CutsOf(const FilePiece& piece, const TierBatches& batches,
                const TierStore& store, const TierWishes* wishes);

// The parts of the piece between `cuts`. Its `done` is called when all of them
// have ended, with the first error. REQUIRES: cuts are multiples of kTierPage.
std::vector<FilePiece> CutPiece(FilePiece piece,
                                absl::Span<const uint64_t> cuts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_CUTS_H_
