// SPDX-License-Identifier: Apache-2.0
#include "core/source/physical.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/source/device_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;

std::vector<EntryId> FilesOf(const Catalogue& catalogue) {
  std::vector<EntryId> files;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    if (catalogue.kind(EntryId(e)) == EntryKind::kFile) {
      files.push_back(EntryId(e));
    }
  }
  return files;
}

// What the file system says of one file; 0 where it cannot or does not know.
uint64_t AskFiemap(const std::string& path) {
  alignas(fiemap) char space[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* map = reinterpret_cast<fiemap*>(space);
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_extent_count = 1;
  UniqueFd fd(open(path.c_str(), O_RDONLY));
  if (ioctl(fd.get(), FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents == 0) {
    return 0;
  }
  uint32_t flags = map->fm_extents[0].fe_flags;
  bool meaningless =
      (flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_INLINE)) != 0;
  return meaningless ? 0 : map->fm_extents[0].fe_physical;
}

class PhysicalTest : public ::testing::Test {
 protected:
  PhysicalTest() {
    for (int i = 0; i < 200; ++i) {
      tree_.File(absl::StrCat("d", i % 3, "/", i),
                 std::string(static_cast<size_t>(1 + i * 97), 'x'));
    }
    for (const char* dir : {"d0", "d1", "d2"}) {
      UniqueFd fd(open(tree_.At(dir).c_str(), O_RDONLY));
      syncfs(fd.get());
    }
  }
  TempTree tree_;
};

TEST_F(PhysicalTest, AddressesAreThoseOfTheFileSystem) {
  Catalogue catalogue = tree_.Scanned();
  std::vector<EntryId> files = FilesOf(catalogue);
  absl::StatusOr<DeviceLayout> layout =
      DeviceAddresses(tree_.Source(), catalogue, files, PhysicalOptions());
  ASSERT_TRUE(layout.ok()) << layout.status();
  ASSERT_EQ(layout->addresses.size(), files.size());
  uint64_t known = 0;
  uint64_t highest = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    uint64_t asked = AskFiemap(tree_.At(catalogue.path(files[i])));
    if (asked == 0) continue;
    ++known;
    highest = std::max(highest, asked);
    EXPECT_EQ(layout->addresses[i], asked) << catalogue.path(files[i]);
  }
  EXPECT_EQ(layout->mapped, known);
  for (size_t i = 0; i < files.size(); ++i) {
    if (AskFiemap(tree_.At(catalogue.path(files[i]))) != 0) continue;
    EXPECT_TRUE(known == 0 || layout->addresses[i] > highest);
  }
  EXPECT_THAT(layout->how,
              HasSubstr(known == 0 ? "by inode order" : "by device address"));
}

TEST_F(PhysicalTest, InodeOrderLaysFilesOneBehindTheOther) {
  Catalogue catalogue = tree_.Scanned();
  std::vector<EntryId> files = FilesOf(catalogue);
  PhysicalOptions options;
  options.inode_order = true;
  DeviceLayout layout =
      *DeviceAddresses(tree_.Source(), catalogue, files, options);
  EXPECT_EQ(layout.mapped, 0u);
  EXPECT_THAT(layout.how, HasSubstr("by inode order"));
  std::vector<size_t> order(files.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return catalogue.attributes(files[a]).ino <
           catalogue.attributes(files[b]).ino;
  });
  uint64_t next = 0;
  for (size_t i : order) {
    EXPECT_EQ(layout.addresses[i], next);
    next += (catalogue.attributes(files[i]).size + 4095) / 4096 * 4096;
  }
}

TEST_F(PhysicalTest, FilesOfOtherDevicesLieFarApart) {
  CatalogueTables tables = tree_.Scanned().tables();
  // As if every file of d1 were mounted from elsewhere.
  uint32_t other = static_cast<uint32_t>(tables.classes.size());
  DirId d1 = *tree_.Scanned().FindDir("d1");
  std::set<uint32_t> moved;
  for (uint32_t e = 0; e < tables.size.size(); ++e) {
    if (tables.DirOf(e) != d1.value()) continue;
    if (moved.empty()) {
      tables.classes.push_back(tables.classes[tables.attr_class[e]]);
      tables.classes.back().device = 1;
      tables.devices.resize(2);
    }
    tables.attr_class[e] = other;
    moved.insert(e);
  }
  Catalogue catalogue = Catalogue::FromTables(std::move(tables));
  std::vector<EntryId> files = FilesOf(catalogue);
  DeviceLayout layout =
      *DeviceAddresses(tree_.Source(), catalogue, files, PhysicalOptions());
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(layout.addresses[i] >> 56, moved.count(files[i].value()));
    EXPECT_EQ(catalogue.attributes(files[i]).ino >> 48,
              moved.count(files[i].value()));
  }
}

TEST_F(PhysicalTest, AFileThatIsGoneStillHasAPlace) {
  Catalogue catalogue = tree_.Scanned();
  std::filesystem::remove(tree_.At("d0/0"));
  std::vector<EntryId> files = {*catalogue.FindPath("d0/0"),
                                *catalogue.FindPath("d0/3")};
  DeviceLayout layout =
      *DeviceAddresses(tree_.Source(), catalogue, files, PhysicalOptions());
  EXPECT_NE(layout.addresses[0], layout.addresses[1]);
  EXPECT_NE(layout.addresses[0], ~uint64_t{0});
}

TEST_F(PhysicalTest, NoFilesAndAStop) {
  Catalogue catalogue = tree_.Scanned();
  EXPECT_TRUE(DeviceAddresses(tree_.Source(), catalogue, {}, PhysicalOptions())
                  ->addresses.empty());
  std::stop_source stop;
  stop.request_stop();
  PhysicalOptions options;
  options.stop = stop.get_token();
  EXPECT_EQ(
      DeviceAddresses(tree_.Source(), catalogue, FilesOf(catalogue), options)
          .status()
          .code(),
      absl::StatusCode::kCancelled);
}

TEST_F(PhysicalTest, ProbingGivesAClassAndItsFigures) {
  DeviceProbe probe =
      ProbeDevice(tree_.Source(), tree_.Scanned(), ProbeOptions());
  EXPECT_EQ(probe.device, ClassifyDevice(probe.figures));
  if (probe.figures.memory_fs) {
    EXPECT_THAT(probe.line, HasSubstr("memory"));
  } else {
    EXPECT_GT(probe.figures.reads, 0u);
    EXPECT_THAT(probe.line, HasSubstr("a random 4 KiB read"));
  }
}

TEST(DeviceProbeTest, SmallFilesWillDo) {
  TempTree tree;
  tree.File("a/tiny", "just a few bytes");
  DeviceProbe probe =
      ProbeDevice(tree.Source(), tree.Scanned(), ProbeOptions());
  EXPECT_NE(probe.device, DeviceKind::kUnknown) << probe.line;
}

TEST(DeviceProbeTest, NothingToReadIsUnknown) {
  TempTree tree;
  tree.File("empty", "");
  struct statfs fs;
  ASSERT_EQ(statfs(tree.root().c_str(), &fs), 0);
  DeviceProbe probe =
      ProbeDevice(tree.Source(), tree.Scanned(), ProbeOptions());
  if (fs.f_type == 0x01021994) {
    EXPECT_EQ(probe.device, DeviceKind::kMemory);
  } else {
    EXPECT_EQ(probe.device, DeviceKind::kUnknown);
    EXPECT_THAT(probe.line, HasSubstr("no file to measure"));
  }
}

TEST(DeviceProbeTest, WhatFiguresMean) {
  auto figures = [](double us, double gain, absl::optional<bool> rotational,
                    bool network) {
    DeviceFigures f;
    f.reads = 32;
    f.median_us = us;
    f.parallel_gain = gain;
    f.rotational = rotational;
    f.network_fs = network;
    return f;
  };
  EXPECT_EQ(ClassifyDevice(DeviceFigures()), DeviceKind::kUnknown);
  // NVMe, and a virtual disk that says it rotates.
  EXPECT_EQ(ClassifyDevice(figures(80, 0, false, false)), DeviceKind::kFlash);
  EXPECT_EQ(ClassifyDevice(figures(300, 0, true, false)), DeviceKind::kFlash);
  EXPECT_EQ(ClassifyDevice(figures(8000, 1.6, true, false)),
            DeviceKind::kSeekBound);
  EXPECT_EQ(ClassifyDevice(figures(8000, 1.6, absl::nullopt, false)),
            DeviceKind::kSeekBound);
  // NFS, cloud block storage, and a network file system next door.
  EXPECT_EQ(ClassifyDevice(figures(3000, 1.2, absl::nullopt, true)),
            DeviceKind::kLatencyBound);
  EXPECT_EQ(ClassifyDevice(figures(2000, 7, true, false)),
            DeviceKind::kLatencyBound);
  EXPECT_EQ(ClassifyDevice(figures(2000, 1, false, false)),
            DeviceKind::kLatencyBound);
  EXPECT_EQ(ClassifyDevice(figures(200, 0, absl::nullopt, true)),
            DeviceKind::kFlash);
  DeviceFigures memory;
  memory.memory_fs = true;
  EXPECT_EQ(ClassifyDevice(memory), DeviceKind::kMemory);
}

}  // namespace
}  // namespace shufflefs
