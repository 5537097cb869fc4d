// SPDX-License-Identifier: Apache-2.0
// Measures what kind of device the source is on, by a few random reads that
// bypass the page cache.
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

// Measured and reported figures of the device.
struct DeviceFigures {
  bool memory_fs = false;   // tmpfs, ramfs
  bool network_fs = false;  // NFS, SMB, Ceph, Lustre, FUSE, …
  // As the kernel reports it; empty if it does not.
  absl::optional<bool> rotational;
  uint32_t reads = 0;    // single reads
  double median_us = 0;  // median of these; 0 if there were none
  // Speed-up per read with eight reads at a time; 0 = not measured.
  double parallel_gain = 0;
  // Throughput; 0 = not measured. It is that of the bytes that follow a read
  // piece in its file (the better quarter, because others may move the head).
  // If round trips dominate, it is that of many files at once. A lower bound.
  // Measured on slow devices only.
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
  // No read begins after this time. A read that hangs is waited for.
  std::chrono::milliseconds budget{300};
  // A few single reads only, to compare with figures that are known.
  bool glance = false;
};

// Reads 4 KiB pieces of files that are spread over the tree. Never fails: a
// device that cannot be measured is kUnknown, and the line says why.
DeviceProbe ProbeDevice(const SourceDir& source, const Catalogue& catalogue,
                        const ProbeOptions& options);

// One clause with the figures of a device that was measured.
std::string DeviceLine(const DeviceFigures& figures);

// The kind of device that the figures indicate. A millisecond per read is slow.
// A slow device that gains much from parallel reads waits for round trips, not
// for a head.
DeviceKind ClassifyDevice(const DeviceFigures& figures);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_DEVICE_PROBE_H_
