// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/config/mount_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

TEST(MountPlaces, LinksAreFollowedAndWhatIsMissingStays) {
  const TempDir dir;
  const std::string root = std::filesystem::canonical(dir.path());
  std::filesystem::create_directories(root + "/a/b");
  std::filesystem::create_symlink("a", root + "/above");
  std::filesystem::create_symlink(root + "/above/b", root + "/absolute");
  std::filesystem::create_symlink("../absolute", root + "/a/relative");
  std::filesystem::create_symlink("above/b/..", root + "/up");
  std::filesystem::create_symlink("loop", root + "/loop");
  for (const char* name : {"a/b", "above/b", "absolute", "above/relative"}) {
    EXPECT_EQ(WithoutLinks(root + "/" + name), root + "/a/b") << name;
  }
  EXPECT_EQ(WithoutLinks(root + "/up"), root + "/a");
  EXPECT_EQ(WithoutLinks(root + "/above/not/there"), root + "/a/not/there");
  EXPECT_EQ(WithoutLinks("/"), "/");
  EXPECT_EQ(WithoutLinks(root + "/loop"), root + "/loop");
}

std::string Refusal(const std::string& source, const std::string& state,
                    const std::string& tier) {
  MountConfig config;
  config.source = source;
  config.mountpoint = "/mnt";
  config.state = state;
  config.tier_path = tier;
  return std::string(CheckPlaces(config).message());
}

TEST(MountPlaces, NothingIsWrittenBelowTheSource) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path() + "/data/a");
  std::filesystem::create_symlink("data/a", dir.path() + "/link");
  const std::string data = dir.path() + "/data";
  EXPECT_EQ(Refusal(data, dir.path() + "/data-state", ""), "");
  EXPECT_THAT(Refusal(data, data + "/st", ""), HasSubstr("-o state=DIR"));
  EXPECT_THAT(Refusal(data, data, ""), HasSubstr("lies in the source"));
  EXPECT_THAT(Refusal(data, dir.path() + "/link/new/st", ""),
              HasSubstr("lies in the source"));
  EXPECT_THAT(Refusal(dir.path() + "/link", data + "/a/st", ""),
              HasSubstr("lies in the source"));
  EXPECT_THAT(Refusal(data, dir.path() + "/st", data),
              HasSubstr("-o tier.path=DIR"));
}

TEST(MountPlaces, TheRootIsNoMountPoint) {
  MountConfig config;
  config.source = "/data";
  config.mountpoint = "/";
  EXPECT_THAT(std::string(CheckPlaces(config).message()),
              HasSubstr("make a directory"));
}

}  // namespace
}  // namespace shufflefs
