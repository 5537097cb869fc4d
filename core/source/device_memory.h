// SPDX-License-Identifier: Apache-2.0
// DeviceMemory keeps the figures of measured devices from mount to mount, in
// one small file. It saves only time: if the file is gone or refused, the
// device is measured again.
#ifndef SHUFFLEFS_CORE_SOURCE_DEVICE_MEMORY_H_
#define SHUFFLEFS_CORE_SOURCE_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/source/device_probe.h"

namespace shufflefs {

// A number for the file system and device of an open file or directory: their
// type, id, size and numbers, and what is mounted. File systems without a block
// device have another one after each boot, because their numbers mean nothing
// then. Empty if the file system does not say.
absl::optional<uint64_t> DeviceIdentity(int fd);

struct MeasuredDevice {
  uint64_t identity = 0;
  int64_t measured = 0;  // seconds since 1970
  DeviceFigures figures;
};

// Not thread-safe. The constructor and Keep block for the disk.
class DeviceMemory {
 public:
  static constexpr size_t kMost = 16;  // the last that were measured
  static constexpr int64_t kSeconds = int64_t{3} * 24 * 3600;  // 3 days

  // Reads the file. If it is damaged, foreign or unreadable, logs a warning and
  // counts it as empty.
  explicit DeviceMemory(FilePlace place);

  // Returns what was measured less than kSeconds before `now`. Nothing that was
  // measured after `now`: the clock was wrong then, or is now.
  absl::optional<MeasuredDevice> Find(uint64_t identity, int64_t now) const;
  // Keeps it instead of an earlier one. Errors: the errno of writing, naming
  // the path.
  absl::Status Keep(const MeasuredDevice& device);

  // The devices of a file. Errors: InvalidArgument if it is another kind of
  // file or version; DataLoss if it is damaged or invalid.
  static absl::StatusOr<std::vector<MeasuredDevice>> Parse(
      absl::string_view bytes);

 private:
  const FilePlace place_;
  std::vector<MeasuredDevice> devices_;  // measured last at the end
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DEVICE_MEMORY_H_
