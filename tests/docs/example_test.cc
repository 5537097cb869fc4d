// SPDX-License-Identifier: Apache-2.0
// examples/shufflefs.toml shows every key with its default, and the systemd
// unit calls the programs as they are.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"
#include "tests/meta/repository.h"

namespace shufflefs {
namespace {

constexpr char kExample[] = "examples/shufflefs.toml";

std::string Example() {
  return absl::StrJoin(meta::Lines(kExample), "\n") + "\n";
}

// With the lines that are switched off switched on.
std::string WholeExample() {
  std::string text;
  for (const std::string& line : meta::Lines(kExample)) {
    const bool off = absl::StartsWith(line, "#:");
    absl::StrAppend(&text, off ? line.substr(2) : line, "\n");
  }
  return text;
}

TEST(ExampleConfig, IsTheDefaults) {
  const absl::StatusOr<MountConfig> config =
      ParseConfig(Example(), kExample, "/");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->views.size(), 1u);
  const MountConfig mount;
  const ViewConfig view;
  for (const Option& option : Options()) {
    EXPECT_EQ(option.Get(*config, config->views[0]), option.Get(mount, view))
        << option.key;
  }
}

TEST(ExampleConfig, HasEveryKey) {
  const absl::StatusOr<TomlDocument> document = ParseToml(WholeExample());
  ASSERT_TRUE(document.ok()) << document.status();
  std::set<std::string> keys;
  for (const TomlSetting& setting : document->settings) {
    keys.insert(setting.key);
  }
  for (const auto& view : document->views) {
    for (const TomlSetting& setting : view) keys.insert(setting.key);
  }
  std::set<std::string> known;
  for (const Option& option : Options()) known.emplace(option.key);
  EXPECT_EQ(keys, known);
}

TEST(ExampleConfig, WhatIsSwitchedOffIsRightToo) {
  const absl::StatusOr<MountConfig> config =
      ParseConfig(WholeExample(), kExample, "/");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->views.size(), 2u);
}

TEST(ExampleConfig, ExplainsEveryKeyInTheTablesWords) {
  const std::string text = Example();
  for (const Option& option : Options()) {
    if (option.key == "path") continue;  // shown in the views
    EXPECT_THAT(text, ::testing::HasSubstr(std::string(option.help.substr(1))))
        << option.key;
  }
}

TEST(SystemdUnit, NamesCommandsAndFiles) {
  const std::vector<std::string> lines =
      meta::Lines("mount-tools/systemd/shufflefs@.service");
  EXPECT_THAT(lines, ::testing::Contains(
                         "ExecStart=shufflefs --config /etc/shufflefs/%i.toml "
                         "$OPTIONS ${SOURCE} ${MOUNTPOINT}"));
  EXPECT_THAT(lines,
              ::testing::Contains("ExecStop=shufflectl umount ${MOUNTPOINT}"));
  EXPECT_THAT(lines,
              ::testing::Contains("EnvironmentFile=/etc/shufflefs/%i.env"));
}

}  // namespace
}  // namespace shufflefs
