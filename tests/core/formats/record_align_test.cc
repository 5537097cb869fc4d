// SPDX-License-Identifier: Apache-2.0
// Containers whose rows belong together: rules, what they are applied to, and
// that the orders are one.
#include "core/formats/record_align.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/records/containers/container_set.h"
#include "core/records/order/record_order.h"
#include "core/records/order/shuffled_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::Container;
using testing_support::MakeContainer;
using testing_support::PolicyOf;
using testing_support::RandomSizes;
using testing_support::TempTree;

AlignRules Rules(const std::string& text) {
  absl::StatusOr<AlignRules> rules = AlignRules::Parse(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

TEST(AlignRulesTest, NamesAreOfOneDirectory) {
  const AlignRules rules = Rules("X.npy:y.npy ; X.npy : z.npy");
  EXPECT_EQ(rules.count(), 2u);
  EXPECT_THAT(rules.Match("X.npy")->paths, ElementsAre("X.npy", "y.npy"));
  EXPECT_THAT(rules.Match("a/b/y.npy")->paths,
              ElementsAre("a/b/X.npy", "a/b/y.npy"));
  EXPECT_EQ(rules.Match("a/b/y.npy")->slot, 1u);
  EXPECT_EQ(rules.Match("z.npy")->rule, 1u);
  EXPECT_FALSE(rules.Match("y.npyx").has_value());
  EXPECT_FALSE(rules.Match("X.npy/y").has_value());
}

TEST(AlignRulesTest, AStarStandsForTheSameTextInAll) {
  const AlignRules rules = Rules("*-images:*-labels");
  EXPECT_THAT(rules.Match("d/train-labels")->paths,
              ElementsAre("d/train-images", "d/train-labels"));
  EXPECT_THAT(rules.Match("-images")->paths, ElementsAre("-images", "-labels"));
  EXPECT_FALSE(rules.Match("images").has_value());
  EXPECT_FALSE(Rules("aa*aa:b*").Match("aaa").has_value());
}

TEST(AlignRulesTest, WithASlashAllArePathsInTheView) {
  const AlignRules rules = Rules("images/*.bin:all-*");
  EXPECT_THAT(rules.Match("all-7")->paths,
              ElementsAre("images/7.bin", "all-7"));
  EXPECT_EQ(rules.Match("images/7.bin")->slot, 0u);
  EXPECT_FALSE(rules.Match("deep/all-7").has_value());
  EXPECT_FALSE(rules.Match("images/deep/7.bin").has_value());
}

TEST(AlignRulesTest, WhatIsNoRuleIsRefusedByName) {
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"a", "one file alone"},
           {"a:b;c", "\"c\" names one file alone"},
           {"a::b", "without a character"},
           {"a:b:a", "names a file twice"},
           {"a*:b", "in some patterns only"},
           {"a*x*:b*", "more than one *"},
           {"a?:b?", "with ? or ["},
           {"a:[b]", "with ? or ["}}) {
    const absl::Status status = AlignRules::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_THAT(std::string(status.message()), HasSubstr("record.align"));
  }
  EXPECT_TRUE(Rules(" ; ").empty());
}

std::vector<std::shared_ptr<const Policy>> Policies() {
  PolicyOptions options;
  options.Set("reimu.block", 4096);
  options.Set("reimu.window", 3);
  options.Set("window.samples", 50);
  std::vector<std::shared_ptr<const Policy>> policies = {
      PolicyOf("lirs", options), PolicyOf("window", options),
      PolicyOf("reimu", options)};
  options.Set("lirs.unit", "page");
  policies.push_back(PolicyOf("lirs", options));
  options.Set("lirs.batch", 7);
  policies.push_back(PolicyOf("lirs", options));
  return policies;
}

std::vector<uint64_t> RecordsOf(const RecordOrder& order) {
  std::vector<uint64_t> records;
  for (uint64_t part = 0; part < order.part_count(); ++part) {
    for (const uint64_t r : order.Records(part)) records.push_back(r);
  }
  return records;
}

// Files of the same rows and of any other sizes come in one order, whatever
// memory makes of their parts; each epoch in another.
TEST(RecordAlignTest, OrdersAreOneByRecordNumber) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng{RandomKey(seed)};
    const uint64_t count = 2 + rng.Bounded(6000);
    const Container by = MakeContainer(
        RandomSizes(count, 1 + rng.Bounded(900), rng), rng.Bounded(99), 3, rng);
    const Container other = MakeContainer(
        RandomSizes(count, 1 + rng.Bounded(900), rng), rng.Bounded(99), 0, rng);
    const FixedTable labels(8, 1, count);
    for (const auto& policy : Policies()) {
      std::vector<std::vector<uint64_t>> epochs;
      for (uint64_t epoch = 0; epoch < 2; ++epoch) {
        RecordOrderOptions options;
        options.key = seed;
        options.seed = Seed(seed);
        options.epoch = Epoch(epoch);
        const auto own = MakeRecordOrder(*policy, *by.shape.records, options);
        epochs.push_back(RecordsOf(*own));
        options.order_by = by.shape.records.get();
        for (const RecordTable* table :
             {other.shape.records.get(),
              static_cast<const RecordTable*>(&labels)}) {
          for (const uint64_t whole : {uint64_t{0}, uint64_t{64} << 20}) {
            options.whole_bytes = whole;
            const auto order = MakeRecordOrder(*policy, *table, options);
            EXPECT_EQ(RecordsOf(*order), epochs.back());
            EXPECT_EQ(order->part_begin(order->part_count()),
                      table->begin(count) - table->begin(0));
          }
        }
      }
      std::vector<uint64_t> sorted = epochs[0];
      std::sort(sorted.begin(), sorted.end());
      std::vector<uint64_t> all(count);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(sorted, all);
      if (count > 100) {
        EXPECT_NE(epochs[0], epochs[1]);
      }
    }
  }
}

class AlignedSetTest : public ::testing::Test {
 protected:
  // Of the tree as it is now, indexed.
  void Make(const std::string& align, const std::string& as = "") {
    ViewConfig config;
    config.record.align = align;
    config.record.as = as;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    set_ =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
  }
  void Index() { set_->Index(tree_.Source(), {}); }
  EntryId Entry(const std::string& path) const {
    return *catalogue_->FindPath(path);
  }
  std::map<std::string, std::string> Untouched() const {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set_->Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }
  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<ContainerSet> set_;
};

TEST_F(AlignedSetTest, ListedFilesShareKeyAndBlocks) {
  tree_.File("d/a.txt", "x\ny\nz\n");
  tree_.File("d/a.svm", "1 1:1\n0 2:1\n1 3:1");
  tree_.File("d/a.txt.idx", "0");
  Make("*.txt:*.svm");
  const EntryId text = Entry("d/a.txt");
  const EntryId svm = Entry("d/a.svm");
  ASSERT_TRUE(set_->Has(text));
  ASSERT_TRUE(set_->Has(svm));
  EXPECT_EQ(set_->key(text), set_->key(svm));
  int told = 0;
  set_->WhenReady(text, [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(set_->Shape(text).has_value());
    ++told;
  });
  Index();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(set_->Shape(svm)->order_by, nullptr) << "the largest";
  EXPECT_EQ(set_->Shape(text)->order_by, set_->Shape(svm)->records);
  EXPECT_EQ(set_->Report().records, 6u);
  EXPECT_TRUE(Untouched().empty());
}

TEST_F(AlignedSetTest, FilesOfOtherCountsAreAllUntouched) {
  tree_.File("a.txt", "x\ny\nz\n");
  tree_.File("a.svm", "1 1:1\n0 2:1\n");
  Make("*.txt:*.svm");
  EXPECT_EQ(set_->count(), 2u);
  Index();
  EXPECT_EQ(set_->count(), 0u);
  for (const char* path : {"a.txt", "a.svm"}) {
    EXPECT_EQ(set_->Shape(Entry(path))->records, nullptr);
    EXPECT_THAT(Untouched()[path],
                HasSubstr("record.align: a.txt has 3 records, a.svm has 2"));
  }
}

TEST_F(AlignedSetTest, WhatCannotBeAlignedKeepsTheOthersInPlace) {
  tree_.Files({"X.npy", "t/images.npy", "t/labels.foo", "val/p.txt",
               "val/p.svm", "q.txt", "q.svm"});
  tree_.File("q.svm", std::string("1 1:1\0\n", 7));
  Make("X.npy:y.npy;images.npy:labels.foo;p.txt:p.svm;q.txt:q.svm;r:s");
  Index();
  const auto untouched = Untouched();
  EXPECT_EQ(untouched.at("X.npy"),
            "record.align: y.npy: there is no such file");
  EXPECT_THAT(untouched.at("t/images.npy"),
              HasSubstr("t/labels.foo: name its format in record.as"));
  EXPECT_THAT(untouched.at("val/p.svm"),
              HasSubstr("val/p.txt: it is in a split"));
  EXPECT_THAT(untouched.at("q.txt"), HasSubstr("q.svm: "));
  EXPECT_EQ(untouched.at("r:s"), "record.align: there is no such file");
  EXPECT_EQ(set_->count(), 0u);
  Make("images.npy:labels.foo", "labels.foo:lines");
  EXPECT_TRUE(set_->Has(Entry("t/labels.foo")));
}

}  // namespace
}  // namespace shufflefs
