// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/place_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Warnings(const std::string& source,
                                  const std::string& mountpoint,
                                  const std::vector<MountEntry>& mounts = {}) {
  MountConfig config;
  config.source = source;
  config.mountpoint = mountpoint;
  return PlaceWarnings(config, mounts);
}

MountEntry Shufflefs(const std::string& mountpoint) {
  MountEntry entry;
  entry.mountpoint = mountpoint;
  entry.type = "fuse.shufflefs";
  return entry;
}

TEST(PlaceWarnings, AnEmptyDirectoryIsAsItShouldBe) {
  const TempDir dir;
  EXPECT_THAT(Warnings("/data", dir.path()), IsEmpty());
  EXPECT_THAT(Warnings("/data", dir.path() + "/absent"), IsEmpty());
}

TEST(PlaceWarnings, FilesThatAreHiddenAreTold) {
  const TempDir dir;
  dir.Write("a", "x");
  EXPECT_THAT(Warnings("/data", dir.path()),
              ElementsAre(HasSubstr("is not empty; its files are hidden")));
  EXPECT_THAT(Warnings(dir.path(), dir.path()), IsEmpty())
      << "a mount over its own source";
  EXPECT_THAT(Warnings("/data", dir.path(), {Shufflefs(dir.path())}), IsEmpty())
      << "another mount is there, which is refused elsewhere";
}

TEST(PlaceWarnings, ASourceBelowTheMountPointIsHidden) {
  EXPECT_THAT(Warnings("/m/data", "/m"),
              ElementsAre(HasSubstr("/m contains the source")));
}

TEST(PlaceWarnings, AMountOfAMountShufflesTwice) {
  EXPECT_THAT(Warnings("/m/train", "/n", {Shufflefs("/m")}),
              ElementsAre(HasSubstr("is in the shufflefs mount /m")));
  EXPECT_THAT(Warnings("/m", "/m", {Shufflefs("/m")}), IsEmpty())
      << "a dead mount over its own source is cleared";
}

}  // namespace
}  // namespace shufflefs
