// SPDX-License-Identifier: Apache-2.0
// DeviceFinder knows the devices below a source. It measures each once, when
// somebody first asks, and remembers slow ones until the next mount.
#ifndef SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_
#define SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/source/device_memory.h"
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
  // How a device is measured, and the time in seconds since 1970. Tests set
  // them.
  struct Means {
    std::function<DeviceProbe(const SourceDir&, const Catalogue&,
                              const ProbeOptions&)>
        probe = ProbeDevice;
    std::function<int64_t()> now;  // null: of the system
  };

  // If the environment has a SHUFFLEFS_DEVICE that PretendedDevice knows, Find
  // returns it and measures nothing. `source` outlives it. `memory` is a file
  // for what was measured. If it is empty, nothing is kept.
  explicit DeviceFinder(const SourceDir& source,
                        const FilePlace& memory = FilePlace());
  DeviceFinder(const SourceDir& source, const FilePlace& memory, Means means);

  // Returns the device of the directory `root`. Blocks while the device is
  // measured (ProbeDevice). If measuring failed, the next call tries again.
  //
  // Figures of a slow device that were measured in the last days are returned
  // again, and the line says when they were measured. They must be of the same
  // file system and device, and a few reads must now take about as long. An
  // earlier measurement is never used otherwise.
  DeviceProbe Find(const Catalogue& catalogue, DirId root);

 private:
  DeviceProbe Measure(const Catalogue& catalogue, DirId root)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<uint64_t> Identity(const Catalogue& catalogue,
                                    DirId root) const;

  // Constant after construction.
  const SourceDir& source_;
  const Means means_;
  const absl::optional<DeviceProbe> pretended_;

  Mutex mu_;
  // Null if nothing is kept.
  const std::unique_ptr<DeviceMemory> memory_ ABSL_PT_GUARDED_BY(mu_);
  // By the catalogue's number of the device.
  absl::flat_hash_map<uint32_t, DeviceProbe> found_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_DEVICE_FINDER_H_
