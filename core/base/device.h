// SPDX-License-Identifier: Apache-2.0
// What kind of device a source lies on, and how fast it reads.
#ifndef SHUFFLEFS_CORE_BASE_DEVICE_H_
#define SHUFFLEFS_CORE_BASE_DEVICE_H_

namespace shufflefs {

enum class DeviceKind { kUnknown, kMemory, kFlash, kSeekBound, kLatencyBound };

// How fast a device reads; 0 = not measured.
struct DeviceSpeed {
  double random_us = 0;      // a random 4 KiB read alone
  double parallel_gain = 0;  // how many times as fast eight at a time are
  // Of reads that lie together, or of many large ones at once, whichever the
  // device rewards.
  double bytes_per_second = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_DEVICE_H_
