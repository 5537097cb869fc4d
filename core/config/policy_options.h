// SPDX-License-Identifier: Apache-2.0
// What the keys of the policies hold: `lirs.page` and its like.
#ifndef SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_
#define SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs {

struct PolicyOptions {
  enum class Unit { kInstance, kPage };
  Unit lirs_unit = Unit::kInstance;
  uint64_t lirs_page = 4096;        // bytes, a power of two, 4 KiB..16 MiB
  uint64_t lirs_batch = 0;          // pages mixed with each other; 0 = 1 page
  uint64_t window_samples = 10000;  // samples in the shuffle queue, >= 1
  uint64_t reimu_block = 1 << 20;   // bytes of a container, >= 4 KiB
  uint64_t reimu_window = 64;       // blocks in memory at a time, >= 1
  enum class Binding { kGroup, kLocation };
  Binding brand_binding = Binding::kGroup;
  uint64_t brand_chunk = 64;  // files read together, 1..65536
  // What makes a chunk: files drawn at random, or what lies together; kAuto:
  // as the device rewards.
  enum class Chunks { kAuto, kRandom, kPhysical };
  Chunks brand_chunks = Chunks::kAuto;
  std::string brand_packed;   // directory of packed chunks; "" = none
  uint64_t met_mini_epochs = 0;  // of a pass; 0 = as the tier's capacity allows
  // Where that is 0, of the records of one container; 0 = any. No key.
  uint64_t met_record_bytes = 0;
  uint64_t met_repeat = 0;  // times a mini-epoch comes in a row; 0 = as needed
  uint64_t met_epochs = 0;  // that the job runs; 0 = not known, nothing repeats
  enum class Adapt { kOff, kScore, kBollinger };
  Adapt met_adapt = Adapt::kOff;  // what of the job's scores ends repeating
  uint64_t met_patience = 2;      // repetitions without a better score, >= 1
  uint64_t met_scores = 8;        // that make the band, >= 2
  std::string met_model;          // whose learnt factors are used; "" = any
  // Of the job's samplers, besides those that are commonly used.
  std::vector<uint64_t> clairvoyant_seeds;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_
