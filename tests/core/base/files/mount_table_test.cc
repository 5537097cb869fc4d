// SPDX-License-Identifier: Apache-2.0
#include "core/base/files/mount_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

constexpr char kTable[] =
    "25 1 254:1 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw\n"
    "30 25 0:26 / /proc rw - proc proc rw\n"
    "40 25 0:50 / /mnt/a\\040b\\134c\\011\\012 rw,nosuid - fuse.shufflefs "
    "/data/x\\040y rw,user_id=0\n"
    "41 25 0:51 / /mnt/no\\999 rw - fuse.shufflefs src rw\n"
    "this line is something else\n"
    "x 25 0:51 / /mnt rw - tmpfs none rw\n"
    "42 25 0:52 / /mnt rw\n";

TEST(MountTable, ReadsTheFormOfTheKernel) {
  const std::vector<MountEntry> mounts = ParseMountInfo(kTable);
  ASSERT_EQ(mounts.size(), 4u);
  EXPECT_EQ(mounts[0].id, 25);
  EXPECT_EQ(mounts[0].parent_id, 1);
  EXPECT_EQ(mounts[0].device, "254:1");
  EXPECT_EQ(mounts[0].mountpoint, "/");
  EXPECT_EQ(mounts[0].flags, "rw,relatime");
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_FALSE(mounts[0].is_shufflefs());
  EXPECT_EQ(mounts[2].mountpoint, "/mnt/a b\\c\t\n");
  EXPECT_EQ(mounts[2].source, "/data/x y");
  EXPECT_TRUE(mounts[2].is_shufflefs());
  EXPECT_EQ(mounts[3].mountpoint, "/mnt/no\\999");
}

TEST(MountTable, NothingIsNoMount) {
  EXPECT_TRUE(ParseMountInfo("").empty());
  EXPECT_TRUE(ParseMountInfo("\n\n").empty());
}

TEST(MountTable, KnowsTheMountOfARealPath) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  const absl::optional<MountEntry> proc = MountAt("/proc/self", *mounts);
  ASSERT_TRUE(proc.has_value());
  EXPECT_EQ(proc->type, "proc");
  EXPECT_EQ(proc->mountpoint, "/proc");
  // A link leads to the mount that it points into, not the one it lies in.
  const testing_support::TempTree dir;
  const std::string link = dir.At("link");
  std::filesystem::create_symlink("/proc/sys", link);
  const absl::optional<MountEntry> linked = MountAt(link, *mounts);
  ASSERT_TRUE(linked.has_value());
  EXPECT_EQ(linked->type, "proc");
}

TEST(MountTable, APathThatIsNotThereLiesByItsName) {
  const std::vector<MountEntry> mounts = ParseMountInfo(
      "25 1 0:1 / / rw - ext4 /dev/vda1 rw\n"
      "26 25 0:2 / /no/such rw - fuse.shufflefs first rw\n"
      "27 26 0:3 / /no/such rw - fuse.shufflefs over-it rw\n"
      "28 25 0:4 / /no/suc rw - tmpfs none rw\n");
  EXPECT_EQ(MountAt("/no/such/dir/x", mounts)->source, "over-it");
  EXPECT_EQ(MountAt("/no/such", mounts)->source, "over-it");
  EXPECT_EQ(MountAt("/no/suchlike", mounts)->mountpoint, "/");
  EXPECT_FALSE(MountAt("/no/such", {}).has_value());
}

}  // namespace
}  // namespace shufflefs
