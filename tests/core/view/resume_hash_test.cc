// SPDX-License-Identifier: Apache-2.0
// The hash with which an epoch is resumed: that of ledgers that were written
// before policies had entries.
#include <vector>

#include "core/policy/policy_entry.h"
#include "core/view/view_setup.h"
#include "gtest/gtest.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

ViewConfig AllKeys() {
  ViewConfig config;
  config.pair = PairMode::kOff;
  config.groups = "/groups";
  PolicyOptions& options = config.policy_options;
  options.Set("window.samples", 7);
  options.Set("brand.chunk_files", 100);
  options.Set("brand.binding", "location");
  options.Set("brand.chunk_layout", "physical");
  options.Set("brand.packed", "/packed");
  options.Set("reimu.block", 8192);
  options.Set("reimu.window", 3);
  config.record.as = "*.bin:fixed";
  config.record.bytes = 100;
  config.record.header = 16;
  config.record.csv = RecordOptions::Csv::kQuoted;
  config.record.align = "a:b";
  config.record.scope = RecordScope::kView;
  options.Set("met.mini_epochs", 16);
  options.Set("met.repeat", 4);
  options.Set("met.epochs", 90);
  options.Set("met.adapt", "bollinger");
  options.Set("met.patience", 3);
  options.Set("met.scores", 20);
  return config;
}

// Computed by 891a382, the last version with a list of its own.
TEST(OptionsHashTest, IsThatOfOldLedgers) {
  EXPECT_EQ(OptionsHash(ViewConfig(), OwnPolicies()), 16575673687572082438u);
  ViewConfig ranked;
  ranked.layout = Layout::kRanked;
  ranked.policy_options.Set("lirs.unit", "page");
  ranked.policy_options.Set("lirs.page", 65536);
  ranked.policy_options.Set("lirs.batch", 32);
  EXPECT_EQ(OptionsHash(ranked, OwnPolicies()), 10299171432569561667u);
  EXPECT_EQ(OptionsHash(AllKeys(), OwnPolicies()), 13706477174582163782u);
}

TEST(OptionsHashTest, ADefaultThatIsGivenChangesNothing) {
  ViewConfig given;
  given.policy_options.Set("lirs.page", 4096);
  given.policy_options.Set("brand.chunk_layout", "auto");
  given.policy_options.Set("met.repeat", 0);
  EXPECT_EQ(OptionsHash(given, OwnPolicies()),
            OptionsHash(ViewConfig(), OwnPolicies()));
}

TEST(OptionsHashTest, KeysThatDoNotBindLeaveIt) {
  ViewConfig config = AllKeys();
  config.policy_options.Set("met.model", "resnet");
  config.policy_options.Set("clairvoyant.seeds", std::vector<uint64_t>{1, 2});
  config.seed = Seed(9);
  EXPECT_EQ(OptionsHash(config, OwnPolicies()), 13706477174582163782u);
}

// Another value of any key that binds is another hash.
TEST(OptionsHashTest, EveryKeyThatBindsChangesIt) {
  const uint64_t before = OptionsHash(ViewConfig(), OwnPolicies());
  int binding = 0;
  for (const PolicyEntry* entry : OwnPolicies()) {
    for (const PolicyOption& option : entry->keys) {
      ViewConfig config;
      if (!option.words.empty()) {
        config.policy_options.Set(option.key, option.words.back());
      } else if (option.kind == PolicyOption::Kind::kPath) {
        config.policy_options.Set(option.key, "/path");
      } else if (option.kind == PolicyOption::Kind::kFraction) {
        config.policy_options.Set(option.key, "0.5");
      } else if (option.kind != PolicyOption::Kind::kText &&
                 option.kind != PolicyOption::Kind::kNumbers) {
        config.policy_options.Set(option.key, option.max);
      }
      const bool changed = OptionsHash(config, OwnPolicies()) != before;
      EXPECT_EQ(changed, option.binds) << option.key;
      binding += option.binds ? 1 : 0;
    }
  }
  EXPECT_EQ(binding, 17);
}

// A key that came later: epochs that began before it was there resume.
TEST(OptionsHashTest, AKeyWithoutAPlaceCountsWhereItIsGiven) {
  static constexpr PolicyOption kKeys[] = {
      {.key = "new.key", .initial = 3, .max = 9, .binds = true}};
  const PolicyEntry entry = {.name = "new", .keys = kKeys};
  std::vector<const PolicyEntry*> policies(OwnPolicies().begin(),
                                           OwnPolicies().end());
  const uint64_t before = OptionsHash(AllKeys(), policies);
  policies.push_back(&entry);
  ViewConfig config = AllKeys();
  EXPECT_EQ(OptionsHash(config, policies), before);
  config.policy_options.Set("new.key", 3);
  EXPECT_EQ(OptionsHash(config, policies), before);
  config.policy_options.Set("new.key", 4);
  EXPECT_NE(OptionsHash(config, policies), before);
}

}  // namespace
}  // namespace shufflefs
