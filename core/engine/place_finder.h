// SPDX-License-Identifier: Apache-2.0
// Where samples lie on the device, remembered from mount to mount.
#ifndef SHUFFLEFS_CORE_ENGINE_PLACE_FINDER_H_
#define SHUFFLEFS_CORE_ENGINE_PLACE_FINDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/dataset/dataset.h"
#include "core/source/physical.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Thread-safe.
class PlaceFinder {
 public:
  // What was found is kept at `place` (an empty one: nowhere). `source`
  // outlives it.
  PlaceFinder(const SourceDir& source, FilePlace place);

  // The place of the first file of each sample, by SampleId. What the file
  // system was asked once, of a catalogue that is the same, it is not asked
  // again. A file that cannot be used or written is a line in the log. Errors:
  // those of DeviceAddresses.
  absl::StatusOr<DeviceLayout> Find(const Dataset& dataset);

 private:
  KnownPlaces Saved(const Catalogue& catalogue) const;

  // Constant after construction.
  const SourceDir& source_;
  const FilePlace place_;

  Mutex mu_;  // held while somebody asks: the next one finds what he saved
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_PLACE_FINDER_H_
