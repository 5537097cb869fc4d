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

}  // namespace
}  // namespace shufflefs
