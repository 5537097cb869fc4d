// SPDX-License-Identifier: Apache-2.0
#include "core/scan/scan_reader.h"

#include <dirent.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

// What getdents64 writes for these names. No file system here has them all.
std::string Listed(const std::vector<std::string>& names) {
  std::string listed;
  for (const std::string& name : names) {
    constexpr size_t kHead = offsetof(dirent64, d_name);
    const size_t bytes = (kHead + name.size() + 1 + 7) / 8 * 8;
    std::string entry(bytes, '\0');
    const uint64_t ino = listed.size() + 1;
    const auto reclen = static_cast<uint16_t>(bytes);
    memcpy(entry.data() + offsetof(dirent64, d_ino), &ino, sizeof(ino));
    memcpy(entry.data() + offsetof(dirent64, d_reclen), &reclen,
           sizeof(reclen));
    entry[offsetof(dirent64, d_type)] = DT_REG;
    memcpy(entry.data() + kHead, name.data(), name.size());
    listed += entry;
  }
  return listed;
}

std::vector<std::string> SortedNames(ScannedDir& dir) {
  for (const auto& batch : dir.batches) {
    for (ScannedEntry& entry : batch->entries) entry.attr_class = 0;
  }
  SortByName(dir);
  std::vector<std::string> names;
  for (const uint32_t ordinal : dir.sorted) {
    const char* const at = dir.name_of(ordinal);
    names.emplace_back(at + 1, static_cast<unsigned char>(*at));
  }
  return names;
}

TEST(ScanReaderTest, LeavesOutNamesThatTheCatalogueCannotHold) {
  const std::string prefix(300 % 256, 'a');
  const std::string most(255, 'b');
  const std::string more(256, 'c');
  const std::string most_of_all(300, 'a');
  ScannedDir dir;
  std::vector<std::string> too_long;
  AddListed(Listed({".", most_of_all, "..", most, "skipped", more, prefix}),
            "skipped", dir, too_long);
  EXPECT_THAT(SortedNames(dir), ElementsAre(prefix, most));
  EXPECT_THAT(too_long, ElementsAre(most_of_all, more));
}

}  // namespace
}  // namespace shufflefs
