// SPDX-License-Identifier: Apache-2.0
// What is FUSE, as the kernel lists it.
#include "core/source/file_systems.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

std::string Mount(const std::string& at, const std::string& type) {
  return absl::StrCat("36 35 0:52 / ", at, " rw,nosuid shared:1 - ", type,
                      " server rw,user_id=0");
}

TEST(ShowsFuseBelowTest, EachTypeThatTheFuseModuleServes) {
  for (const char* type :
       {"fuse", "fuseblk", "fuse.sshfs", "fuseblk.ntfs", "virtiofs"}) {
    EXPECT_TRUE(ShowsFuseBelow(Mount("/data/x", type), "/data")) << type;
  }
  for (const char* type : {"ext4", "nfs", "fusectl", "virtio", ""}) {
    EXPECT_FALSE(ShowsFuseBelow(Mount("/data/x", type), "/data")) << type;
  }
}

TEST(ShowsFuseBelowTest, OnlyBelowTheDirectory) {
  EXPECT_TRUE(ShowsFuseBelow(Mount("/a\\040b/x/y", "fuse"), "/a b"));
  EXPECT_FALSE(ShowsFuseBelow(Mount("/database", "fuse"), "/data"));
  EXPECT_FALSE(ShowsFuseBelow(Mount("/data", "fuse"), "/data")) << "itself";
  EXPECT_TRUE(ShowsFuseBelow(Mount("/data/x", "fuse"), "/"));
  EXPECT_TRUE(ShowsFuseBelow(Mount("/x", "virtiofs"), "/"));
}

TEST(ShowsFuseBelowTest, WhatIsNoLineShowsNothing) {
  for (const char* line : {"", "- fuse", "a b - fuse", "36 35 0:52 / /x rw"}) {
    EXPECT_FALSE(ShowsFuseBelow(line, "/")) << line;
  }
}

TEST(ShowsIdmapTest, OfTheMountItselfAndOfThoseBelow) {
  constexpr char kLine[] =
      "36 35 0:52 / /data/x rw,relatime,idmapped shared:1 - ext4 /dev/x rw";
  EXPECT_TRUE(ShowsIdmap(kLine, 36, "/elsewhere"));
  EXPECT_TRUE(ShowsIdmap(kLine, 36, "/data/x/inside"));
  EXPECT_TRUE(ShowsIdmap(kLine, 1, "/data"));
  EXPECT_TRUE(ShowsIdmap(kLine, 1, "/"));
  EXPECT_FALSE(ShowsIdmap(kLine, 3, "/data/x")) << "another mount there";
  EXPECT_FALSE(ShowsIdmap(kLine, 35, "/dat"));
}

TEST(ShowsIdmapTest, ByTheOptionsOfTheMountAlone) {
  for (const char* line :
       {"", "36", "36 35 0:52 / /x", "36 35 0:52 / /x rw - ext4 idmapped rw",
        "36 35 0:52 / /x rw,notidmapped - ext4 /dev/x rw,idmapped"}) {
    EXPECT_FALSE(ShowsIdmap(line, 36, "/")) << line;
  }
}

}  // namespace
}  // namespace shufflefs
