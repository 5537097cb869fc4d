// SPDX-License-Identifier: Apache-2.0
// RetriedOpens remembers threads whose open was answered with ESTALE. The
// kernel looks the name up again, opens once more, and does not ask a third
// time.
#ifndef SHUFFLEFS_CORE_EPOCH_RETRIED_OPENS_H_
#define SHUFFLEFS_CORE_EPOCH_RETRIED_OPENS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/types.h"

namespace shufflefs {

// Not thread-safe. Threads are identified by their id, which is never 0.
class RetriedOpens {
 public:
  // With more entries than this, the threads are long gone. All are forgotten.
  static constexpr size_t kMost = 4096;

  void Add(uint32_t reader);
  // Returns whether the reader's open is its second try. Its next open is not.
  bool Take(uint32_t reader) { return samples_.erase(reader) != 0; }

  // Notes that a reader, if it retries its open, was told that a name shows
  // `sample`.
  void NoteLookup(SampleId sample, uint32_t reader);
  bool empty() const { return samples_.empty(); }
  // Adds what threads that retry their open have looked up since, each once.
  void AppendLookedUp(std::vector<SampleId>& samples);

 private:
  // By reader, the sample that it looked up since.
  absl::flat_hash_map<uint32_t, absl::optional<SampleId>> samples_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_RETRIED_OPENS_H_
