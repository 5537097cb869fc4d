// SPDX-License-Identifier: Apache-2.0
// MetOptions has the values of met's keys.
#ifndef SHUFFLEFS_POLICIES_MET_MET_OPTIONS_H_
#define SHUFFLEFS_POLICIES_MET_MET_OPTIONS_H_

#include <cstdint>
#include <string>

#include "core/config/policy_options.h"
#include "core/policy/policy.h"

namespace shufflefs {

struct MetOptions {
  static constexpr uint64_t kMostMiniEpochs = uint64_t{1} << 16;
  static constexpr uint64_t kMostRepeat = 1024;

  uint64_t mini_epochs = 0;  // per pass; 0: as the tier's capacity allows
  // If mini_epochs is 0: most bytes of records of one container in a
  // mini-epoch; 0: any. Not a key.
  uint64_t record_bytes = 0;
  uint64_t repeat = 0;  // times a mini-epoch is shown in a row; 0: auto
  uint64_t epochs = 0;  // that the job runs; 0: unknown, nothing repeats
  enum class Adapt { kOff, kScore, kBollinger };
  Adapt adapt = Adapt::kOff;  // how the job's losses end repeating
  uint64_t patience = 2;      // repetitions without a better loss, >= 1
  uint64_t scores = 8;        // number of losses that make the band, >= 2
  std::string model;          // whose learnt factors are used; "": any
  RecordBlocks blocks;        // of records, as in reimu

  static MetOptions Of(const PolicyOptions& options);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_OPTIONS_H_
