// SPDX-License-Identifier: Apache-2.0
// DeviceAddressFinder finds the addresses of samples on the device, and
// remembers them from mount to mount.
#ifndef SHUFFLEFS_CORE_ENGINE_DEVICE_ADDRESS_FINDER_H_
#define SHUFFLEFS_CORE_ENGINE_DEVICE_ADDRESS_FINDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/dataset/dataset.h"
#include "core/source/physical.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe.
class DeviceAddressFinder {
 public:
  enum class Keep { kYes, kNo };  // whether it writes what it found

  // Keeps what it found at `place`; an empty place keeps nothing. `source`
  // outlives it.
  DeviceAddressFinder(const SourceDir& source, FilePlace place,
                      Keep keep = Keep::kYes);

  // Returns the address of each sample's first file, by SampleId. Does not ask
  // the file system again about an unchanged catalogue. If the saved file
  // cannot be used or written, logs a line. Errors: those of DeviceAddresses.
  absl::StatusOr<DeviceLayout> Find(const Dataset& dataset);

 private:
  KnownAddresses Saved(const Catalogue& catalogue) const;

  // Constant after construction.
  const SourceDir& source_;
  const FilePlace place_;
  const Keep keep_;

  Mutex mu_;  // held during a search, so the next caller finds the result
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_DEVICE_ADDRESS_FINDER_H_
