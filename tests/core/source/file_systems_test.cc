// SPDX-License-Identifier: Apache-2.0
// What is FUSE, as the kernel lists it.
#include "core/source/file_systems.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

MountEntry Parsed(const std::string& line) {
  const std::vector<MountEntry> mounts = ParseMountInfo(line);
  EXPECT_EQ(mounts.size(), 1u) << line;
  return mounts.empty() ? MountEntry() : mounts.front();
}

MountEntry Mount(const std::string& at, const std::string& type) {
  return Parsed(absl::StrCat("36 35 0:52 / ", at, " rw,nosuid shared:1 - ",
                             type, " server rw,user_id=0"));
}

TEST(IsLocalFsTest, WhatIsNotKnownMayBeAServer) {
  constexpr uint64_t kExt4 = 0xef53, kTmpfs = 0x01021994, kNfs = 0x6969;
  constexpr uint64_t kOverlay = 0x794c7630;  // of anything
  EXPECT_TRUE(IsLocalFs(kExt4));
  EXPECT_TRUE(IsLocalFs(kTmpfs));
  for (const uint64_t type : {kNfs, kOverlay, uint64_t{0x20030528}}) {
    EXPECT_FALSE(IsLocalFs(type)) << type;
    EXPECT_FALSE(AnswersFromMemory(type)) << type;
  }
}

TEST(IsFuseBelowTest, EachTypeThatTheFuseModuleServes) {
  for (const char* type :
       {"fuse", "fuseblk", "fuse.sshfs", "fuseblk.ntfs", "virtiofs"}) {
    EXPECT_TRUE(IsFuseBelow(Mount("/data/x", type), "/data")) << type;
  }
  for (const char* type : {"ext4", "nfs", "fusectl", "virtio", ""}) {
    EXPECT_FALSE(IsFuseBelow(Mount("/data/x", type), "/data")) << type;
  }
}

TEST(IsFuseBelowTest, OnlyBelowTheDirectory) {
  EXPECT_TRUE(IsFuseBelow(Mount("/a\\040b/x/y", "fuse"), "/a b"));
  EXPECT_FALSE(IsFuseBelow(Mount("/database", "fuse"), "/data"));
  EXPECT_FALSE(IsFuseBelow(Mount("/data", "fuse"), "/data")) << "itself";
  EXPECT_TRUE(IsFuseBelow(Mount("/data/x", "fuse"), "/"));
  EXPECT_TRUE(IsFuseBelow(Mount("/x", "virtiofs"), "/"));
}

TEST(IsIdmappedTest, OfTheMountItselfAndOfThoseBelow) {
  const MountEntry mount = Parsed(
      "36 35 0:52 / /data/x rw,relatime,idmapped shared:1 - ext4 /dev/x rw");
  EXPECT_TRUE(IsIdmapped(mount, 36, "/elsewhere"));
  EXPECT_TRUE(IsIdmapped(mount, 36, "/data/x/inside"));
  EXPECT_TRUE(IsIdmapped(mount, 1, "/data"));
  EXPECT_TRUE(IsIdmapped(mount, 1, "/"));
  EXPECT_FALSE(IsIdmapped(mount, 3, "/data/x")) << "another mount there";
  EXPECT_FALSE(IsIdmapped(mount, 35, "/dat"));
}

TEST(IsIdmappedTest, ByTheOptionsOfTheMountAlone) {
  for (const char* line :
       {"36 35 0:52 / /x rw - ext4 idmapped rw",
        "36 35 0:52 / /x rw,notidmapped - ext4 /dev/x rw,idmapped"}) {
    EXPECT_FALSE(IsIdmapped(Parsed(line), 36, "/")) << line;
  }
}

}  // namespace
}  // namespace shufflefs
