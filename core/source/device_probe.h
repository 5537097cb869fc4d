// SPDX-License-Identifier: Apache-2.0
// What kind of device the source lies on, by measurement: a few random reads
// that go past the page cache.
#ifndef SHUFFLEFS_CORE_SOURCE_DEVICE_PROBE_H_
#define SHUFFLEFS_CORE_SOURCE_DEVICE_PROBE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "core/base/device.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// What was measured and read about the device.
struct DeviceFigures {
  bool memory_fs = false;           // tmpfs, ramfs
  bool network_fs = false;          // NFS, SMB, Ceph, Lustre, FUSE, …
  absl::optional<bool> rotational;  // as the kernel says, where it does
  uint32_t reads = 0;               // one at a time
  double median_us = 0;             // of these; 0 if there were none
  // How much faster eight reads at a time were, a read; 0 = not measured.
  double parallel_gain = 0;
  // Of what follows a read piece in its file (the better quarter: others may
  // move the head), or where round trips are what costs, of
  // many files at once; 0 = not measured. A lower bound. Slow devices only.
  double bytes_per_second = 0;
  bool past_cache = true;  // by O_DIRECT; false: pages were dropped before
};

struct DeviceProbe {
  DeviceSpeed speed() const {
    return {figures.median_us, figures.parallel_gain, figures.bytes_per_second};
  }

  DeviceKind device = DeviceKind::kUnknown;
  DeviceFigures figures;
  std::string line;  // one clause with the figures, for status and check
};

struct ProbeOptions {
  DirId root{0};  // files at or below it are read
  // No read begins later. One that hangs is waited for.
  std::chrono::milliseconds budget{300};
};

// Reads 4 KiB pieces of files that are spread over the tree. Never fails: what
// cannot be measured is kUnknown, and the line says why.
DeviceProbe ProbeDevice(const SourceDir& source, const Catalogue& catalogue,
                        const ProbeOptions& options);

// The class that figures mean. A millisecond a read is slow; what is slow and
// gains much from parallel reads waits for round trips, not for a head.
DeviceKind ClassifyDevice(const DeviceFigures& figures);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DEVICE_PROBE_H_
