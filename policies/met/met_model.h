// SPDX-License-Identifier: Apache-2.0
// The analytical model of the MET paper. It computes what repeating mini-epochs
// from a performance tier demands of the capacity tier below, and how fast a
// job then runs. Pure functions; any thread may call.
//
// Equation 1 of the paper prints the bandwidth that the capacity tier gives as
// MAX(3.8 TB/s / rf, B2). Its own figure of 30.4 GB/s at rf 128 follows only
// with MIN, and with 3.8 x 1024 GB/s. So this code computes MIN(B1 / rf, B2).
// B1 is what the job consumes at its peak, and B2 is what the capacity tier can
// give. The model omits what the tier's device spends on receiving the copies.
#ifndef SHUFFLEFS_POLICIES_MET_MET_MODEL_H_
#define SHUFFLEFS_POLICIES_MET_MET_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

// Bytes and samples per second. Everything is positive; infinite if a tier does
// not limit anything.
struct MetTiers {
  double consumed_bytes;  // B1: what the job consumes at its peak
  double peak_samples;    // the same, in samples
  double tier_bytes;      // what the performance tier gives
  double capacity_bytes;  // B2: what the capacity tier gives
};

// Equation 1: what the capacity tier gives while each mini-epoch is shown `rf`
// times. REQUIRES: rf >= 1.
double MetCapacityDraw(const MetTiers& tiers, uint64_t rf);

// Samples per second. The limits are the job, the performance tier, and what
// the capacity tier gives, each byte of which is shown `rf` times.
double MetThroughput(const MetTiers& tiers, uint64_t rf);

// The smallest rf whose throughput no greater rf exceeds.
uint64_t MetLeastRepeat(const MetTiers& tiers);

// A pass over a dataset. Each mini-epoch is shown as often as `repeats` says
// while the next one is copied. Seconds and bytes.
struct MetTrace {
  double first_copy = 0;  // before anything is shown
  double shown = 0;       // while readers are served
  double waited = 0;      // for the next mini-epoch, after the first
  double samples = 0;     // the samples that were shown
  double copied_bytes = 0;
  double total() const { return first_copy + shown + waited; }
};
MetTrace TraceMet(const MetTiers& tiers, double dataset_bytes,
                  absl::Span<const uint64_t> repeats);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_MODEL_H_
