// SPDX-License-Identifier: Apache-2.0
#include "core/source/device_memory.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/checked_file.h"
#include "core/base/files/mount_table.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

constexpr CheckedFormat kDevicesFormat = {.magic = "SHUFDEV\n",
                                          .version = 1,
                                          .name = "measured devices",
                                          .other = "holds no measured devices"};
constexpr uint64_t kMostBytes = uint64_t{1} << 20;

struct DevicesHeader {
  CheckedHead head;
  uint64_t devices;
};

struct FiledDevice {
  uint64_t identity;
  int64_t measured;
  uint64_t median_us;  // the bits of a double, like the two below
  uint64_t parallel_gain;
  uint64_t bytes_per_second;
  uint32_t reads;
  uint32_t flags;
};

enum Flags : uint32_t {
  kNetworkFs = 1,
  kPastCache = 2,
  kKnowsRotational = 4,
  kIsRotational = 8,
  kFlagsEnd = 16,
};

FiledDevice Filed(const MeasuredDevice& device) {
  const DeviceFigures& f = device.figures;
  return {.identity = device.identity,
          .measured = device.measured,
          .median_us = std::bit_cast<uint64_t>(f.median_us),
          .parallel_gain = std::bit_cast<uint64_t>(f.parallel_gain),
          .bytes_per_second = std::bit_cast<uint64_t>(f.bytes_per_second),
          .reads = f.reads,
          .flags = (f.network_fs ? kNetworkFs : 0U) |
                   (f.past_cache ? kPastCache : 0U) |
                   (f.rotational ? kKnowsRotational : 0U) |
                   (f.rotational.value_or(false) ? kIsRotational : 0U)};
}

MeasuredDevice Read(const FiledDevice& filed) {
  MeasuredDevice device{filed.identity, filed.measured, {}};
  DeviceFigures& f = device.figures;
  f.median_us = std::bit_cast<double>(filed.median_us);
  f.parallel_gain = std::bit_cast<double>(filed.parallel_gain);
  f.bytes_per_second = std::bit_cast<double>(filed.bytes_per_second);
  f.reads = filed.reads;
  f.network_fs = (filed.flags & kNetworkFs) != 0;
  f.past_cache = (filed.flags & kPastCache) != 0;
  if ((filed.flags & kKnowsRotational) != 0) {
    f.rotational = (filed.flags & kIsRotational) != 0;
  }
  return device;
}

bool MakesSense(const FiledDevice& filed) {
  const DeviceFigures figures = Read(filed).figures;
  const auto is_measure = [](double value) {
    return std::isfinite(value) && value >= 0;
  };
  return filed.flags < kFlagsEnd && filed.reads > 0 &&
         is_measure(figures.median_us) && is_measure(figures.parallel_gain) &&
         is_measure(figures.bytes_per_second);
}

// What the table of mounts says of the device: its file system and what is
// mounted. "" if it has no such device.
std::string MountedFrom(dev_t device) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return "";
  const std::string number = absl::StrCat(major(device), ":", minor(device));
  for (const MountEntry& mount : *mounts) {
    if (mount.device == number) {
      return absl::StrCat(" - ", mount.type, " ", mount.source, " ",
                          mount.options);
    }
  }
  return "";
}

}  // namespace

absl::optional<uint64_t> DeviceIdentity(int fd) {
  struct stat st;
  struct statfs fs;
  if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0) return absl::nullopt;
  std::string text = MountedFrom(st.st_dev);
  if (major(st.st_dev) == 0) {
    const std::string boot = BootId();
    if (boot.empty()) return absl::nullopt;
    text += boot;
  }
  static_assert(sizeof fs.f_fsid == 8);
  absl::StrAppend(&text, " ", st.st_dev, " ", fs.f_type, " ", fs.f_bsize, " ",
                  fs.f_blocks, " ", std::bit_cast<uint64_t>(fs.f_fsid));
  return XXH3_64bits(text.data(), text.size());
}

DeviceMemory::DeviceMemory(FilePlace place) : place_(std::move(place)) {
  const absl::StatusOr<std::string> bytes = ReadWholeFile(place_, kMostBytes);
  if (absl::IsNotFound(bytes.status())) return;
  absl::Status read = bytes.status();  // names the path
  if (bytes.ok()) {
    absl::StatusOr<std::vector<MeasuredDevice>> devices = Parse(*bytes);
    if (devices.ok()) {
      devices_ = *std::move(devices);
      return;
    }
    read = Annotate(devices.status(), place_.path());
  }
  Log(LogLevel::kWarning,
      absl::StrCat("the device is measured again: ", read.message()));
}

absl::StatusOr<std::vector<MeasuredDevice>> DeviceMemory::Parse(
    absl::string_view bytes) {
  DevicesHeader header;
  std::vector<FiledDevice> filed;
  CheckedReader reader(kDevicesFormat, bytes);
  RETURN_IF_ERROR(reader.ReadHeader(header));
  reader.Take(header.devices, filed);
  RETURN_IF_ERROR(reader.Finish());
  std::vector<MeasuredDevice> devices;
  for (const FiledDevice& device : filed) {
    if (filed.size() > kMost || !MakesSense(device)) {
      return absl::DataLossError("holds what no device is");
    }
    devices.push_back(Read(device));
  }
  return devices;
}

absl::optional<MeasuredDevice> DeviceMemory::Find(uint64_t identity,
                                                  int64_t now) const {
  for (const MeasuredDevice& device : devices_) {
    if (device.identity == identity && device.measured <= now &&
        now - device.measured < kSeconds) {
      return device;
    }
  }
  return absl::nullopt;
}

absl::Status DeviceMemory::Keep(const MeasuredDevice& device) {
  std::erase_if(devices_, [&](const MeasuredDevice& each) {
    return each.identity == device.identity;
  });
  if (devices_.size() == kMost) devices_.erase(devices_.begin());
  devices_.push_back(device);
  std::vector<FiledDevice> filed;
  for (const MeasuredDevice& each : devices_) filed.push_back(Filed(each));
  DevicesHeader header = {.head = {}, .devices = filed.size()};
  return ReplaceFile(
      place_, SealedPieces(kDevicesFormat, header, {ColumnBytes(filed)}));
}

}  // namespace shufflefs
