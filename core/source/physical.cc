// SPDX-License-Identifier: Apache-2.0
#include "core/source/physical.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/parallel.h"

namespace shufflefs {
namespace {

constexpr uint64_t kUnknown = KnownAddresses::kNoAddress;
constexpr uint64_t kBlock = 4096;
// Files without an address begin at a multiple of this after the others, so
// that no block of any policy holds both kinds.
constexpr uint64_t kGap = uint64_t{1} << 30;
constexpr int kDeviceShift = 56;
static_assert(KnownAddresses::kAddresses == uint64_t{1} << kDeviceShift);
// After so many refusals a file system is not asked any more.
constexpr uint32_t kEnoughRefusals = 16;

uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The address of the first extent of an open file. kUnknown if it has none that
// means anything, kNotAsked if it may get one. Sets `*refused` to whether the
// file system lacks the call. `flags`: FIEMAP_FLAG_SYNC writes the file first.
uint64_t ExtentNow(int fd, uint32_t flags, bool* refused) {
  constexpr uint32_t kNotYet = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC;
  constexpr uint32_t kMeaningless =
      FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_INLINE;
  alignas(fiemap) char space[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* map = reinterpret_cast<fiemap*>(space);
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_flags = flags;
  map->fm_extent_count = 1;
  *refused = false;
  if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
    *refused = errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS;
    return *refused ? kUnknown : KnownAddresses::kNotAsked;
  }
  const fiemap_extent& extent = map->fm_extents[0];
  if (map->fm_mapped_extents > 0 && (extent.fe_flags & kNotYet) != 0) {
    return KnownAddresses::kNotAsked;
  }
  if (map->fm_mapped_extents == 0 || (extent.fe_flags & kMeaningless) != 0 ||
      extent.fe_physical >> kDeviceShift != 0) {
    return kUnknown;
  }
  return extent.fe_physical;
}

// A file that was written just now gets its place when it reaches the device.
// Without it the next mount would find another place, and so another order, in
// the same epoch.
uint64_t FirstExtent(int fd, bool* refused) {
  const uint64_t now = ExtentNow(fd, 0, refused);
  if (now != KnownAddresses::kNotAsked) return now;
  return ExtentNow(fd, FIEMAP_FLAG_SYNC, refused);
}

class Mapper {
 public:
  Mapper(const SourceDir& source, const Catalogue& catalogue,
         absl::Span<const EntryId> entries, const PhysicalOptions& options)
      : source_(source),
        catalogue_(catalogue),
        entries_(entries),
        options_(options) {}

  absl::StatusOr<DeviceLayout> Run();

 private:
  uint32_t DeviceOf(uint32_t index) const {
    const CatalogueTables& t = catalogue_.tables();
    return t.classes[t.attr_class[entries_[index].value()]].device;
  }
  void SortByInode();
  bool MapAll();
  void MapOne(uint32_t index);
  uint64_t Ask(uint32_t index);
  void PlaceRest();

  const SourceDir& source_;
  const Catalogue& catalogue_;
  const absl::Span<const EntryId> entries_;
  const PhysicalOptions& options_;
  std::vector<uint32_t> order_;  // indices in entries_, by device and inode
  uint32_t devices_ = 0;
  std::vector<std::atomic<uint32_t>> refusals_;  // by device
  std::atomic<uint64_t> asked_{0};
  DeviceLayout layout_;
};

void Mapper::SortByInode() {
  const CatalogueTables& t = catalogue_.tables();
  order_.resize(entries_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    uint32_t device_a = DeviceOf(a);
    uint32_t device_b = DeviceOf(b);
    if (device_a != device_b) return device_a < device_b;
    uint64_t ino_a = t.ino[entries_[a].value()];
    uint64_t ino_b = t.ino[entries_[b].value()];
    return ino_a != ino_b ? ino_a < ino_b : entries_[a] < entries_[b];
  });
  if (!order_.empty()) devices_ = DeviceOf(order_.back()) + 1;
}

uint64_t Mapper::Ask(uint32_t index) {
  std::atomic<uint32_t>& refusals = refusals_[DeviceOf(index)];
  if (refusals.load(std::memory_order_relaxed) >= kEnoughRefusals) {
    return kUnknown;
  }
  asked_.fetch_add(1, std::memory_order_relaxed);
  absl::StatusOr<UniqueFd> fd =
      source_.Open(catalogue_.path(entries_[index]), O_RDONLY);
  if (!fd.ok()) return KnownAddresses::kNotAsked;
  bool refused = false;
  const uint64_t address = FirstExtent(fd->get(), &refused);
  if (refused) refusals.fetch_add(1, std::memory_order_relaxed);
  return address;
}

// Threads write to different elements.
void Mapper::MapOne(uint32_t index) {
  uint64_t* known = options_.known == nullptr
                        ? nullptr
                        : &options_.known->by_entry[entries_[index].value()];
  uint64_t address = known == nullptr ? KnownAddresses::kNotAsked : *known;
  if (address == KnownAddresses::kNotAsked) {
    address = Ask(index);
    if (known != nullptr) *known = address;
  }
  layout_.addresses[index] =
      address == KnownAddresses::kNotAsked ? kUnknown : address;
}

// Returns false if it was stopped.
bool Mapper::MapAll() {
  ParallelOptions parallel;
  parallel.threads = options_.threads;
  parallel.name = "fiemap";
  ParallelFor(order_.size(), parallel, [this](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) MapOne(order_[i]);
    return !options_.stop.stop_requested();
  });
  return !options_.stop.stop_requested();
}

// Assigns addresses to the files that have none, device by device.
void Mapper::PlaceRest() {
  std::vector<uint64_t> next(devices_, 0);
  for (uint32_t index : order_) {
    uint64_t address = layout_.addresses[index];
    if (address == kUnknown) continue;
    ++layout_.mapped;
    uint64_t& end = next[DeviceOf(index)];
    end = std::max(end, RoundUp(address + 1, kGap));
  }
  const CatalogueTables& t = catalogue_.tables();
  for (uint32_t index : order_) {
    uint32_t device = DeviceOf(index);
    uint64_t& address = layout_.addresses[index];
    if (address == kUnknown) {
      address = next[device];
      uint64_t size = t.size[entries_[index].value()];
      next[device] += std::max(kBlock, RoundUp(size, kBlock));
    }
    address += uint64_t{device} << kDeviceShift;
  }
}

absl::StatusOr<DeviceLayout> Mapper::Run() {
  SortByInode();
  refusals_ = std::vector<std::atomic<uint32_t>>(devices_);
  layout_.addresses.assign(entries_.size(), kUnknown);
  if (!options_.inode_order && !MapAll()) {
    return absl::CancelledError("the search for the files' places was stopped");
  }
  layout_.asked = asked_;
  PlaceRest();
  layout_.how =
      layout_.mapped == 0
          ? std::string("by inode order: the file system gives no addresses")
          : absl::StrCat("by device address: ", layout_.mapped, " of ",
                         entries_.size(), " files, the others by inode order");
  return std::move(layout_);
}

}  // namespace

absl::StatusOr<DeviceLayout> DeviceAddresses(const SourceDir& source,
                                             const Catalogue& catalogue,
                                             absl::Span<const EntryId> entries,
                                             const PhysicalOptions& options) {
  return Mapper(source, catalogue, entries, options).Run();
}

}  // namespace shufflefs
