// SPDX-License-Identifier: Apache-2.0
// The text of `status`: JSON, whatever bytes stand in names and in what other
// nodes say.
#include "fs/control/status_json.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/config/config.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

constexpr char kNoText[] = "\xff\xfe caf\xc3";

TEST(StatusJsonTest, IsJsonWhateverOthersSay) {
  MountConfig config;
  config.views.resize(1);
  config.views[0].path = kNoText;
  PeerGroup group;
  group.members.resize(1);
  group.members[0].name = kNoText;
  group.members[0].why = kNoText;
  StatusParts parts;
  parts.source = kNoText;
  parts.config = &config;
  parts.indexing = kNoText;
  parts.warnings = {kNoText};
  parts.peers.emplace();
  parts.peers->group = std::make_shared<const PeerGroup>(group);
  const auto json = nlohmann::json::parse(StatusJson(parts, -1));
  const std::string shown = "\xEF\xBF\xBD\xEF\xBF\xBD caf\xEF\xBF\xBD";
  EXPECT_EQ(json["source"], shown);
  EXPECT_EQ(json["warnings"][0], shown);
  EXPECT_EQ(json["views"][0]["why"], shown);
  EXPECT_EQ(json["peers"]["members"][0]["name"], shown);
  EXPECT_EQ(json["peers"]["members"][0]["why"], shown);
}

}  // namespace
}  // namespace shufflefs
