// SPDX-License-Identifier: Apache-2.0
// What is known of the devices below a source: each is measured once, when
// somebody first asks.
#ifndef SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_
#define SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/source/device_probe.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// The figures of an emulated device of tests/bench/testbed: "hdd", "nas" or
// "flash"; nothing for any other word. For tests and demonstrations.
absl::optional<DeviceProbe> PretendedDevice(absl::string_view name);

// Thread-safe.
class DeviceFinder {
 public:
  // Where the environment has a SHUFFLEFS_DEVICE that PretendedDevice knows,
  // that is what is found; nothing is measured then. `source` outlives it.
  explicit DeviceFinder(const SourceDir& source);

  // The device that the directory `root` lies on. Blocks while it is measured
  // (ProbeDevice); one that could not be is tried again by the next who asks.
  DeviceProbe Find(const Catalogue& catalogue, DirId root);

 private:
  // Constant after construction.
  const SourceDir& source_;
  const absl::optional<DeviceProbe> pretended_;

  Mutex mu_;
  // By the catalogue's number of the device.
  absl::flat_hash_map<uint32_t, DeviceProbe> found_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_
