// SPDX-License-Identifier: Apache-2.0
// Threads whose open was answered with ESTALE: the kernel looks the name up
// again, opens once more, and asks no third time.
#ifndef SHUFFLEFS_CORE_EPOCH_SENT_BACK_H_
#define SHUFFLEFS_CORE_EPOCH_SENT_BACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/types.h"

namespace shufflefs {

// Not thread-safe. Threads are their ids, none of them 0.
class SentBack {
 public:
  // With so many they are long gone, and forgotten.
  static constexpr size_t kMost = 4096;

  void Add(uint32_t reader);
  // Whether its open is the second try. The next one is not.
  bool Take(uint32_t reader) { return samples_.erase(reader) != 0; }

  // It was told, if it was sent back, that a name shows `sample`.
  void NoteLookup(SampleId sample, uint32_t reader);
  bool empty() const { return samples_.empty(); }
  // Adds what those that were sent back have looked up since, each once.
  void AppendLookedUp(std::vector<SampleId>& samples);

 private:
  // By reader, what it looked up since.
  absl::flat_hash_map<uint32_t, absl::optional<SampleId>> samples_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_SENT_BACK_H_
