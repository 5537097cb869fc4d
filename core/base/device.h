// SPDX-License-Identifier: Apache-2.0
// The kind of device that holds a source, and how fast it reads.
#ifndef SHUFFLEFS_CORE_BASE_DEVICE_H_
#define SHUFFLEFS_CORE_BASE_DEVICE_H_

namespace shufflefs {

enum class DeviceKind { kUnknown, kMemory, kFlash, kSeekBound, kLatencyBound };

// How fast a device reads; 0 = not measured.
struct DeviceSpeed {
  double random_us = 0;      // latency of a single random 4 KiB read
  double parallel_gain = 0;  // speed-up per read when eight run at a time
  // Speed of sequential reads, or of many large reads at once, whichever the
  // device rewards.
  double bytes_per_second = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_DEVICE_H_
