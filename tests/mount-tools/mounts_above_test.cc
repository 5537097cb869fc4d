// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/mounts_above.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr char kTable[] =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "30 22 0:40 / /mnt/set rw - fuse.shufflefs /data rw,user_id=0\n"
    "31 22 0:41 / /a rw - overlay overlay rw,lowerdir=/mnt/set,upperdir=/u\n"
    "32 22 0:41 / /b rw - overlay o ro,lowerdir=/x:/mnt/set/val\n"
    "33 22 0:41 / /c rw - overlay o ro,lowerdir+=/x,lowerdir+=/mnt/set/val\n"
    "34 22 0:41 / /d rw - overlay o rw,lowerdir=/mnt/settle,upperdir=/mnt/set\n"
    "35 22 0:42 / /e rw - fuse /mnt/set/train rw\n"
    "36 22 0:43 / /f rw - fuse.bindfs /mnt/other rw\n"
    "37 22 0:44 / /g rw - fuse.shufflefs /mnt/set rw\n"
    "38 22 0:45 / /h rw - overlay o ro,lowerdir=/mnt\\:/set:/mnt/set\\:2\n";

std::vector<std::string> Above(const std::string& mountpoint) {
  std::vector<std::string> above;
  for (const MountEntry& mount :
       MountsAbove(ParseMountInfo(kTable), mountpoint)) {
    above.push_back(mount.mountpoint);
  }
  return above;
}

TEST(MountsAboveTest, AreOverlaysAndFuseMountsOfAPartOfIt) {
  EXPECT_THAT(Above("/mnt/set"), testing::ElementsAre("/a", "/b", "/c", "/e",
                                                      "/g"));
  EXPECT_THAT(Above("/mnt/set:2"), testing::ElementsAre("/h"));
  EXPECT_THAT(Above("/mnt/none"), testing::IsEmpty());
}

// One over its own source names its mountpoint.
TEST(MountsAboveTest, AMountIsNotAboveItself) {
  EXPECT_THAT(MountsAbove(ParseMountInfo("30 22 0:40 / /data rw - "
                                         "fuse.shufflefs /data rw\n"),
                          "/data"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace shufflefs
