// SPDX-License-Identifier: Apache-2.0
// The keys of met, and what they hold.
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

  uint64_t mini_epochs = 0;  // of a pass; 0 = as the tier's capacity allows
  // Where that is 0, of the records of one container; 0 = any. No key.
  uint64_t record_bytes = 0;
  uint64_t repeat = 0;  // times a mini-epoch comes in a row; 0 = as needed
  uint64_t epochs = 0;  // that the job runs; 0 = not known, nothing repeats
  enum class Adapt { kOff, kScore, kBollinger };
  Adapt adapt = Adapt::kOff;  // what of the job's scores ends repeating
  uint64_t patience = 2;      // repetitions without a better score, >= 1
  uint64_t scores = 8;        // that make the band, >= 2
  std::string model;          // whose learnt factors are used; "" = any
  RecordBlocks blocks;        // of records, as reimu has them

  static MetOptions Of(const PolicyOptions& options);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_OPTIONS_H_
