// SPDX-License-Identifier: Apache-2.0
// The analytical model of the MET paper: what repeating mini-epochs from a
// performance tier asks of the capacity tier below, and how fast a job then
// goes. Pure functions; any thread may call.
//
// Equation 1 of the paper prints the bandwidth that the capacity tier gives as
// MAX(3.8 TB/s / rf, B2). Its own figure of 30.4 GB/s at rf 128 follows only
// with MIN, and with 3.8 x 1024 GB/s: MIN(B1 / rf, B2) is what is computed
// here, B1 being what the job takes at its peak and B2 what the capacity tier
// can give. What the tier's device spends on taking the copies is not in it.
#ifndef SHUFFLEFS_POLICIES_MET_MET_MODEL_H_
#define SHUFFLEFS_POLICIES_MET_MET_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

// Bytes and samples a second. Everything is positive; infinite where a tier
// does not bound anything.
struct MetTiers {
  double consumed_bytes;  // B1: what the job takes at its peak
  double peak_samples;    // the same, in samples
  double tier_bytes;      // what the performance tier gives
  double capacity_bytes;  // B2: what the capacity tier gives
};

// Equation 1: what the capacity tier gives while each mini-epoch is shown `rf`
// times. REQUIRES: rf >= 1.
double MetCapacityDraw(const MetTiers& tiers, uint64_t rf);

// Samples a second: bound by the job, by the performance tier, and by what the
// capacity tier gives, each byte of which is shown `rf` times.
double MetThroughput(const MetTiers& tiers, uint64_t rf);

// The least rf with the throughput of any greater one.
uint64_t MetLeastRepeat(const MetTiers& tiers);

// A pass over a dataset whose mini-epochs are shown as often as `repeats` says,
// each while the next one is copied. Seconds and bytes.
struct MetTrace {
  double first_copy = 0;  // before anything is shown
  double shown = 0;       // while readers are served
  double waited = 0;      // for the next mini-epoch, after the first
  double samples = 0;     // that were shown
  double copied_bytes = 0;
  double total() const { return first_copy + shown + waited; }
};
MetTrace TraceMet(const MetTiers& tiers, double dataset_bytes,
                  absl::Span<const uint64_t> repeats);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_MODEL_H_
