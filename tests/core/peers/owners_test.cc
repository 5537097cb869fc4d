// SPDX-License-Identifier: Apache-2.0
#include "core/peers/owners.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace shufflefs {
namespace {

PeerGroup GroupOfNames(std::vector<std::string> names) {
  PeerGroup group;
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    group.members.push_back({.name = name, .self = name == "a", .why = ""});
  }
  return group;
}

TEST(OwnersTest, ArePutEvenlyAndMoveLittle) {
  const Owners all(
      std::make_shared<PeerGroup>(GroupOfNames({"a", "b", "c", "d", "e"})));
  const Owners four(
      std::make_shared<PeerGroup>(GroupOfNames({"a", "b", "d", "e"})));
  std::map<std::string, int> owned;
  constexpr int kFiles = 20000;
  for (uint32_t i = 0; i < kFiles; ++i) {
    const ExtentId id = {EntryId(i / 3), i % 3};
    const std::string owner = all.group()->members[all.Of(id)].name;
    ++owned[owner];
    const std::string later = four.group()->members[four.Of(id)].name;
    if (owner != "c") EXPECT_EQ(later, owner);
  }
  // Standard deviation: 57.
  for (const auto& [name, count] : owned) EXPECT_NEAR(count, kFiles / 5, 300);
}

}  // namespace
}  // namespace shufflefs
