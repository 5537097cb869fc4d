// SPDX-License-Identifier: Apache-2.0
// DeviceFinder knows the devices below a source. It measures each once, when
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

// Returns the figures of an emulated device of tests/bench/testbed: "hdd",
// "nas" or "flash". Returns nothing for any other word. For tests and
// demonstrations.
absl::optional<DeviceProbe> PretendedDevice(absl::string_view name);

// Thread-safe.
class DeviceFinder {
 public:
  // If the environment has a SHUFFLEFS_DEVICE that PretendedDevice knows, Find
  // returns it and measures nothing. `source` outlives it.
  explicit DeviceFinder(const SourceDir& source);

  // Returns the device of the directory `root`. Blocks while the device is
  // measured (ProbeDevice). If measuring failed, the next call tries again.
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
