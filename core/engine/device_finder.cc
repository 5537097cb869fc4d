// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device_finder.h"

#include <fcntl.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shufflefs {
namespace {

absl::optional<DeviceProbe> FromEnvironment() {
  const char* name = std::getenv("SHUFFLEFS_DEVICE");
  if (name == nullptr) return absl::nullopt;
  return PretendedDevice(name);
}

uint32_t DeviceOf(const Catalogue& catalogue, DirId dir) {
  const CatalogueTables& t = catalogue.tables();
  const uint32_t attr_class = dir == DirId(0)
                                  ? t.root.attr_class
                                  : t.attr_class[t.dirs[dir.value()].entry];
  return t.classes[attr_class].device;
}

int64_t SecondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Measuring a fast device takes a moment only, so it is not remembered.
bool IsSlow(DeviceKind device) {
  return device == DeviceKind::kSeekBound ||
         device == DeviceKind::kLatencyBound;
}

// Returns whether reads take about as long as they did. The device may be busy
// now, or was busy then.
bool AreNear(const DeviceFigures& now, const DeviceFigures& then) {
  constexpr double kFactor = 2;
  return now.reads > 0 && now.memory_fs == then.memory_fs &&
         now.network_fs == then.network_fs &&
         now.rotational == then.rotational &&
         now.past_cache == then.past_cache &&
         now.median_us < then.median_us * kFactor &&
         then.median_us < now.median_us * kFactor;
}

std::string DateOf(time_t seconds) {
  tm date;
  char text[32];
  if (gmtime_r(&seconds, &date) == nullptr) return "";
  const size_t length = strftime(text, sizeof text, "%F %R UTC", &date);
  return std::string(text, length);
}

DeviceProbe Recalled(const MeasuredDevice& device) {
  DeviceProbe probe;
  probe.figures = device.figures;
  probe.device = ClassifyDevice(device.figures);
  probe.line = absl::StrCat(DeviceLine(device.figures), ", measured ",
                            DateOf(device.measured));
  return probe;
}

}  // namespace

absl::optional<DeviceProbe> PretendedDevice(absl::string_view name) {
  DeviceProbe probe;
  probe.figures.reads = 1;
  if (name == "hdd") {
    probe.figures.median_us = 6300;
    probe.figures.parallel_gain = 1.1;
    probe.figures.bytes_per_second = 144e6;
  } else if (name == "nas") {
    probe.figures.median_us = 4000;
    probe.figures.parallel_gain = 8;
    probe.figures.bytes_per_second = 378e6;
  } else if (name == "flash") {
    probe.figures.median_us = 80;
  } else {
    return absl::nullopt;
  }
  probe.device = ClassifyDevice(probe.figures);
  probe.line = absl::StrCat(name, ", as SHUFFLEFS_DEVICE says");
  return probe;
}

DeviceFinder::DeviceFinder(const SourceDir& source, const FilePlace& memory)
    : DeviceFinder(source, memory, Means()) {}

DeviceFinder::DeviceFinder(const SourceDir& source, const FilePlace& memory,
                           Means means)
    : source_(source),
      means_(std::move(means)),
      pretended_(FromEnvironment()),
      memory_(memory.empty() || pretended_
                  ? nullptr
                  : std::make_unique<DeviceMemory>(memory)) {}

DeviceProbe DeviceFinder::Find(const Catalogue& catalogue, DirId root) {
  if (pretended_) return *pretended_;
  const uint32_t device = DeviceOf(catalogue, root);
  MutexLock lock(mu_);
  const auto known = found_.find(device);
  if (known != found_.end()) return known->second;
  DeviceProbe probe = Measure(catalogue, root);
  if (probe.device != DeviceKind::kUnknown) found_[device] = probe;
  return probe;
}

absl::optional<uint64_t> DeviceFinder::Identity(const Catalogue& catalogue,
                                                DirId root) const {
  if (root == DirId(0)) return DeviceIdentity(source_.fd());
  const absl::StatusOr<UniqueFd> dir =
      source_.Open(catalogue.path(root), O_RDONLY | O_DIRECTORY);
  return dir.ok() ? DeviceIdentity(dir->get()) : absl::nullopt;
}

DeviceProbe DeviceFinder::Measure(const Catalogue& catalogue, DirId root) {
  ProbeOptions where;
  where.root = root;
  const absl::optional<uint64_t> identity =
      memory_ == nullptr ? absl::nullopt : Identity(catalogue, root);
  if (!identity) return means_.probe(source_, catalogue, where);
  const int64_t now = means_.now ? means_.now() : SecondsNow();
  if (const auto known = memory_->Find(*identity, now)) {
    ProbeOptions glance = where;
    glance.glance = true;
    if (AreNear(means_.probe(source_, catalogue, glance).figures,
                known->figures)) {
      return Recalled(*known);
    }
  }
  DeviceProbe probe = means_.probe(source_, catalogue, where);
  if (IsSlow(probe.device)) {
    const absl::Status kept = memory_->Keep({*identity, now, probe.figures});
    if (!kept.ok()) {
      Log(LogLevel::kWarning,
          absl::StrCat("device not saved: ", kept.message()));
    }
  }
  return probe;
}

}  // namespace shufflefs
