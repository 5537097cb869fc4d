// SPDX-License-Identifier: Apache-2.0
// Estimates the gain of reading chunks, of reading blocks of records, or of
// prefetching, over the plain directory, from what was measured of the device.
//
// Pure functions; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_
#define SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/policy/policy_advice.h"

namespace shufflefs {

// Of whole chunks that `pool` describes, for an epoch of uncached files, by
// `readers` (>= 1) processes that draw names at random. Empty if the speed of
// the device was not measured, or if the device neither seeks nor has a high
// latency.
//
// A plain file costs a random read and its transfer. n readers share that as
// far as the device gains from parallel reads (a power of n, through the value
// measured with eight). A chunk costs one random read if its files are
// adjacent, and almost none if round trips overlap. The number of files per
// chunk, and of files that are read alone because nothing of their class is in
// memory, follow from memory and the number of classes. The model assumes that
// each class is contiguous on the device, as in trees that were copied. A fifth
// of the result is subtracted for what the model leaves out.
absl::optional<PolicyGain> EstimateChunks(const DatasetFacts& facts,
                                          const PoolFacet& pool, int readers);

// The assumed size of a record, because sizes are not known before records are
// read.
inline constexpr uint64_t kUsualRecord = 131072;  // bytes

// Of blocks of `block_bytes` of containers, against `readers` plain readers
// that draw records at random, as above.
absl::optional<PolicyGain> EstimateBlocks(const DatasetFacts& facts,
                                          uint64_t block_bytes, int readers);

// Of prefetching, once the readers' order is recognised, as above: round trips
// overlap. Empty on a device that seeks: the gain of sorting within the
// look-ahead depends on where the files are.
absl::optional<PolicyGain> EstimatePrefetch(const DatasetFacts& facts,
                                            int readers);

// From this gain on, a policy is worth choosing.
inline constexpr double kWorthwhileGain = 1.3;
// The assumed numbers of readers: a usual number of workers, and many.
inline constexpr int kUsualReaders = 4;
inline constexpr int kManyReaders = 16;

// "about 6x": rounded down, to a whole number from 3 on, to a half from 2 on,
// to a tenth below.
std::string AboutTimes(double gain);

// "about 3x the files a second of 4 plain readers that draw at random, no more
// than 16 get", from the gain over the usual number of readers and over many.
std::string TimesClause(const std::vector<PolicyGain>& gains);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_
