// SPDX-License-Identifier: Apache-2.0
// Estimates the gain of brand, or of prefetching, over the plain directory,
// from what was measured of the device.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_
#define SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_

#include <string>

#include "absl/types/optional.h"
#include "core/policy/policy.h"

namespace shufflefs {

struct GainEstimate {
  double raw = 0;    // files per second of plain readers, at random
  double brand = 0;  // of the same readers if whole chunks are read
  double gain() const { return brand / raw; }
};

// For an epoch of uncached files, by `readers` (>= 1) processes that draw names
// at random. Empty if the speed of the device was not measured, or if the
// device neither seeks nor has a high latency.
//
// A plain file costs a random read and its transfer. n readers share that as
// far as the device gains from parallel reads (a power of n, through the value
// measured with eight). A chunk costs one random read if its files are
// adjacent, and almost none if round trips overlap. The number of files per
// chunk, and of files that are read alone because nothing of their class is in
// memory, follow from memory and the number of classes. The model assumes that
// each class is contiguous on the device, as in trees that were copied. A fifth
// of the result is subtracted for what the model leaves out.
absl::optional<GainEstimate> EstimateGain(const DatasetFacts& facts,
                                          int readers);

struct RecordEstimate {
  double at_random = 0;  // records per second, drawn one by one
  double in_blocks = 0;  // of blocks of `record_block` bytes
  double gain() const { return in_blocks / at_random; }
};
// The assumed size of a record, because sizes are not known before records are
// read.
inline constexpr uint64_t kUsualRecord = 131072;  // bytes

// For `reimu` over containers, against `readers` plain readers that draw
// records at random, as above.
absl::optional<RecordEstimate> EstimateRecords(const DatasetFacts& facts,
                                               int readers);

struct PrefetchEstimate {
  double raw = 0;    // files per second of plain readers, at random
  double ahead = 0;  // of the same readers with prefetching
  double gain() const { return ahead / raw; }
};

// For `clairvoyant`, once the readers' order is recognised, as above: round
// trips overlap. Empty on a device that seeks: the gain of sorting within the
// look-ahead depends on where the files are.
absl::optional<PrefetchEstimate> EstimatePrefetch(const DatasetFacts& facts,
                                                  int readers);

// From this gain on, brand or prefetching is worth choosing.
inline constexpr double kWorthwhileGain = 1.3;
// The assumed numbers of readers: a usual number of workers, and many.
inline constexpr int kUsualReaders = 4;
inline constexpr int kManyReaders = 16;

// "about 6x": rounded down, to a whole number from 3 on, to a half from 2 on,
// to a tenth below.
std::string AboutTimes(double gain);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_
