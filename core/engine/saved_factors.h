// SPDX-License-Identifier: Apache-2.0
// SavedFactors keeps the repeating factors that met has learnt
// (policies/met/repeat_control.h). The next run of the same model over the same
// dataset begins with them. They are in one small JSON file of the state
// directory, which is replaced as a whole.
#ifndef SHUFFLEFS_CORE_ENGINE_SAVED_FACTORS_H_
#define SHUFFLEFS_CORE_ENGINE_SAVED_FACTORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"

namespace shufflefs {

// Thread-safe. Store blocks for the disk.
class SavedFactors {
 public:
  static constexpr size_t kMostKeys = 64;       // the last that were stored
  static constexpr size_t kMostFactors = 4096;  // per key, the first ones

  struct Key {
    uint64_t dataset = 0;  // fingerprint of the catalogue
    std::string view;      // its path
    std::string model;     // met.model
    bool operator==(const Key&) const = default;
  };

  // Reads the file. If it is damaged, foreign or unreadable, logs a warning and
  // counts it as empty.
  explicit SavedFactors(FilePlace place);

  // Returns the factors by mini-epoch, in order; 0 means unknown. Empty for a
  // key that was never stored.
  std::vector<uint32_t> Load(const Key& key) const;
  // Keeps the factors in memory in any case, and writes the file. Errors: the
  // errno of writing, naming the path.
  absl::Status Store(const Key& key, std::vector<uint32_t> factors);

 private:
  struct Entry {
    Key key;
    std::vector<uint32_t> factors;
  };

  static absl::StatusOr<std::vector<Entry>> Parse(absl::string_view text);
  static std::string Render(const std::vector<Entry>& entries);

  const FilePlace place_;
  mutable Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);  // stored last at the end
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_SAVED_FACTORS_H_
