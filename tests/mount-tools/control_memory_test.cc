// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/control_memory.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/config/option_table.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

MountConfig TwoViews() {
  MountConfig mount;
  mount.source = "/data";
  mount.mountpoint = "/mnt";
  mount.views.resize(2);
  mount.views[0].path = "train";
  mount.views[0].policy = "lirs";
  mount.views[1].path = "more";
  return mount;
}

std::vector<ViewKeys> KeysOf(const MountConfig& mount) {
  std::vector<ViewKeys> keys;
  for (const ViewConfig& view : mount.views) {
    keys.push_back(ViewKeys{view, view});
  }
  return keys;
}

class ControlMemoryTest : public testing::Test {
 protected:
  ControlMemory Open(const MountConfig& mount) const {
    return ControlMemory::Open(path_, mount);
  }
  bool exists() const { return std::filesystem::exists(path_); }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/control.toml";
};

TEST_F(ControlMemoryTest, WithoutAFileTheCommandLineRules) {
  const ControlMemory memory = Open(TwoViews());
  EXPECT_EQ(memory.config().views[0].policy, "lirs");
  EXPECT_EQ(memory.config().source, "/data");
  ASSERT_EQ(memory.running().size(), 2u);
  EXPECT_FALSE(memory.running()[0].has_value());
  EXPECT_FALSE(exists());
}

// Every key that can change while mounted, with a value that is not its
// default.
TEST_F(ControlMemoryTest, GivesBackEveryKeyThatCanChange) {
  std::vector<ViewKeys> keys = KeysOf(TwoViews());
  MountConfig none;
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, const char*>>{
           {"policy", "window"},
           {"seed", "18446744073709551615"},
           {"epoch.advance", "manual"},
           {"epoch.length", "77"},
           {"epoch.pad", "3"},
           {"epoch.double_open", "250ms"},
           {"lirs.unit", "page"},
           {"lirs.page", "64KiB"},
           {"lirs.batch", "5"},
           {"brand.chunk_files", "16"},
           {"brand.chunk_layout", "random"},
           {"brand.binding", "location"},
           {"brand.locality", "0.5"},
           {"reimu.block", "2MiB"},
           {"reimu.window", "5"},
           {"met.mini_epochs", "16"},
           {"met.repeat", "4"},
           {"met.epochs", "90"},
           {"met.adapt", "score"},
           {"met.patience", "3"},
           {"met.scores", "5"},
           {"window.samples", "9"},
           {"nodes", "2/3"},
           {"clairvoyant.seeds", "7;99"}}) {
    ASSERT_TRUE(SetOption(key, value, none, keys[1].wanted).ok()) << key;
  }
  keys[1].running = keys[1].wanted;
  Open(TwoViews()).Keep(keys);
  const ControlMemory again = Open(TwoViews());
  for (const Option& option : Options()) {
    const std::string got = option.Get(none, again.config().views[1]);
    EXPECT_EQ(got, option.Get(none, keys[1].wanted)) << option.key;
    if (option.run_time && option.scope == OptionScope::kView) {
      EXPECT_NE(got, option.Get(none, ViewConfig())) << option.key;
    }
  }
  EXPECT_EQ(again.config().views[0].policy, "lirs");
  EXPECT_FALSE(again.running()[1].has_value());
  EXPECT_TRUE(exists());
}

// An empty value removes what the command line gives.
TEST_F(ControlMemoryTest, WhatWasEmptiedStaysEmpty) {
  const auto seeds = [](const ControlMemory& memory) {
    MountConfig none;
    return FindOption("clairvoyant.seeds")->Get(none, memory.config().views[0]);
  };
  MountConfig mount = TwoViews();
  MountConfig none;
  ASSERT_TRUE(
      SetOption("clairvoyant.seeds", "7;99", none, mount.views[0]).ok());
  EXPECT_EQ(seeds(Open(mount)), "7;99");
  std::vector<ViewKeys> keys = KeysOf(mount);
  ASSERT_TRUE(SetOption("clairvoyant.seeds", "", none, keys[0].wanted).ok());
  keys[0].running = keys[0].wanted;
  Open(mount).Keep(keys);
  EXPECT_EQ(seeds(Open(mount)), "");
  keys[0].running.seed = keys[0].wanted.seed = Seed(5);
  Open(mount).Keep(keys);
  EXPECT_EQ(seeds(Open(mount)), "");
}

TEST_F(ControlMemoryTest, KnowsWhatRanBeforeASwitch) {
  std::vector<ViewKeys> keys = KeysOf(TwoViews());
  keys[0].wanted.seed = Seed(6);
  Open(TwoViews()).Keep(keys);
  const ControlMemory again = Open(TwoViews());
  EXPECT_EQ(again.config().views[0].seed, Seed(6));
  ASSERT_TRUE(again.running()[0].has_value());
  EXPECT_EQ(again.running()[0]->seed, Seed(0));
  EXPECT_EQ(again.running()[0]->path, "train");
  EXPECT_FALSE(again.running()[1].has_value());
}

TEST_F(ControlMemoryTest, AnotherCommandLineRules) {
  std::vector<ViewKeys> keys = KeysOf(TwoViews());
  keys[0].wanted.seed = Seed(6);
  Open(TwoViews()).Keep(keys);
  MountConfig other = TwoViews();
  other.views[1].seed = Seed(2);
  EXPECT_EQ(Open(other).config().views[0].seed, Seed(0));
  EXPECT_FALSE(exists());
  EXPECT_EQ(Open(TwoViews()).config().views[0].seed, Seed(0));
}

TEST_F(ControlMemoryTest, IsGoneAfterACleanEndAndWhenKeysAreAsAskedFor) {
  std::vector<ViewKeys> keys = KeysOf(TwoViews());
  keys[0].wanted.seed = Seed(6);
  ControlMemory memory = Open(TwoViews());
  memory.Keep(keys);
  ASSERT_TRUE(exists());
  memory.Forget();
  EXPECT_FALSE(exists());
  memory.Keep(keys);
  ASSERT_TRUE(exists());
  memory.Keep(KeysOf(TwoViews()));
  EXPECT_FALSE(exists());
}

TEST_F(ControlMemoryTest, WhatIsDamagedIsDropped) {
  std::vector<ViewKeys> keys = KeysOf(TwoViews());
  keys[0].wanted.seed = keys[0].running.seed = Seed(6);
  Open(TwoViews()).Keep(keys);
  const std::string whole = dir_.Read("control.toml");
  const std::string seed = "seed = \"6\"";
  ASSERT_NE(whole.find(seed), std::string::npos);
  for (const char* wrong : {"seed = \"x\"", "state = \"/tmp\"", "sede = 1",
                            "seed = ", "[[view]]", "policy = \"best\""}) {
    std::string text = whole;
    dir_.Write("control.toml",
               text.replace(text.find(seed), seed.size(), wrong));
    const ControlMemory memory = Open(TwoViews());
    EXPECT_EQ(memory.config().views[0].seed, Seed(0)) << wrong;
    EXPECT_EQ(memory.config().state, "") << wrong;
    EXPECT_FALSE(exists()) << wrong;
  }
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    dir_.Write("control.toml", whole.substr(0, length));
    const ControlMemory memory = Open(TwoViews());
    EXPECT_EQ(memory.config().views[0].seed, Seed(0)) << length;
  }
  dir_.Write("control.toml", whole);
  EXPECT_EQ(Open(TwoViews()).config().views[0].seed, Seed(6));
}

}  // namespace
}  // namespace shufflefs
