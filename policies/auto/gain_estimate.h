// SPDX-License-Identifier: Apache-2.0
// What brand, or reading ahead, would gain over the plain directory, estimated
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
  double raw = 0;    // files a second that plain readers get, at random
  double brand = 0;  // that the same readers get when whole chunks are read
  double gain() const { return brand / raw; }
};

// For an epoch of files that are not cached, by `readers` (>= 1) processes
// that draw names at random. Nothing where it was not measured how fast the
// device reads, or on a device that neither seeks nor has a high latency.
//
// A plain file costs a random read and its transfer; n readers share that as
// far as the device gains from reads at once (a power of n, through what was
// measured with eight). A chunk costs one random read where its files lie
// together, and where round trips overlap as good as none. How many files a
// chunk has, and how many are read alone because nothing of their class is in
// memory, follows from memory and the number of classes: as if each lay in
// one piece on the device, as trees that were copied do. From the whole a
// fifth is taken off, for what a model leaves out.
absl::optional<GainEstimate> EstimateGain(const DatasetFacts& facts,
                                          int readers);

struct RecordEstimate {
  double at_random = 0;  // records a second, drawn one by one
  double in_blocks = 0;  // of blocks of `record_block` bytes
  double gain() const { return in_blocks / at_random; }
};
// The size of record that is reckoned with: how large they are is not known
// before they are read.
inline constexpr uint64_t kUsualRecord = 131072;  // bytes

// Of `reimu` over containers against `readers` plain ones that draw records at
// random, as above.
absl::optional<RecordEstimate> EstimateRecords(const DatasetFacts& facts,
                                               int readers);

struct ForesightEstimate {
  double raw = 0;    // files a second that plain readers get, at random
  double ahead = 0;  // that the same readers get when theirs are read ahead
  double gain() const { return ahead / raw; }
};

// Of `clairvoyant`, once the readers' order is recognised, as above: round
// trips overlap. Nothing on a device that seeks: what sorting within the
// look-ahead gives there depends on where the files lie.
absl::optional<ForesightEstimate> EstimateForesight(const DatasetFacts& facts,
                                                    int readers);

// From here on brand is worth choosing, or reading ahead.
inline constexpr double kWorthwhileGain = 1.3;
// The readers that are reckoned with: a usual number of workers, and many.
inline constexpr int kUsualReaders = 4;
inline constexpr int kManyReaders = 16;

// "about 6x": rounded down, to a whole number from 3 on, to a half from 2 on,
// to a tenth below.
std::string AboutTimes(double gain);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_GAIN_ESTIMATE_H_
