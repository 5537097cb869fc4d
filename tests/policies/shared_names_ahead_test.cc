// SPDX-License-Identifier: Apache-2.0
// Nodes that ask for names before anybody looks them up.
#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/policies/shared_nodes.h"

namespace shufflefs::testing_support {
namespace {

std::vector<SampleId> Names(const std::vector<uint64_t>& values) {
  std::vector<SampleId> names;
  for (const uint64_t value : values) names.emplace_back(value);
  return names;
}

class SharedNamesAheadTest : public testing::Test {
 protected:
  // All samples are in the memory of their owners.
  void FetchAll() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) nodes_[i].pool->Fetches();
  }
  const std::unique_ptr<BinderData> data_ =
      MakeBinderData({30, 30}, /*memory_samples=*/200, /*chunk=*/5,
                     /*mixed=*/true);
  Nodes nodes_{*data_, 3};
  std::vector<uint64_t> all_ = [] {
    std::vector<uint64_t> all(60);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }();
};

TEST_F(SharedNamesAheadTest, OneQuestionAnOwnerIsEnough) {
  nodes_.Begin(0);
  FetchAll();
  nodes_[0].names->AskAhead(Names(all_));
  EXPECT_EQ(nodes_.asked, 2u);  // the two others
  EXPECT_EQ(nodes_[0].names->shown(), 0u);
  std::set<uint64_t> shown;
  for (const uint64_t name : all_) shown.insert(nodes_.Ask(0, name));
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_EQ(nodes_.asked, 2u);
  EXPECT_EQ(nodes_[0].names->shown(), 60u);
  // Others see the same, whoever asked first.
  for (const uint64_t name : all_) {
    EXPECT_EQ(nodes_.Ask(1, name), nodes_.Ask(0, name));
  }
  nodes_[0].names->AskAhead(Names(all_));  // all are known
  EXPECT_LE(nodes_.asked, 2u + 60u);
}

// Nothing in memory is free for them. So they are not bound, and whoever looks
// them up asks for himself.
TEST_F(SharedNamesAheadTest, OnlyWhatIsInMemoryIsBoundAhead) {
  nodes_.Begin(0);
  nodes_[0].names->AskAhead(Names(all_));
  EXPECT_EQ(nodes_.asked, 2u);
  EXPECT_TRUE(nodes_[0].names->is_fresh());
  EXPECT_TRUE(nodes_[1].names->is_fresh());
  EXPECT_TRUE(nodes_[1].names->KnownPairs().empty());
  std::set<uint64_t> shown;
  for (const uint64_t name : all_) shown.insert(nodes_.Ask(0, name));
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_GT(nodes_.asked, 20u);
}

TEST_F(SharedNamesAheadTest, AWrongPredictionCostsNoSample) {
  nodes_.Begin(0);
  FetchAll();
  // Each node asks for what another one looks up.
  Rng rng(RandomKey(5));
  const std::vector<uint64_t> order = Shuffled(60, rng);
  for (uint32_t i = 0; i < 3; ++i) nodes_[i].names->AskAhead(Names(order));
  std::set<uint64_t> shown;
  for (size_t at = 0; at < order.size(); ++at) {
    shown.insert(nodes_.Ask(at % 3, order[at]));
  }
  EXPECT_EQ(shown.size(), 60u);
}

// An owner that is away, or of another epoch, is not asked ahead again, and its
// names are not given up for that.
TEST_F(SharedNamesAheadTest, WhoDoesNotAnswerIsLeftAlone) {
  nodes_.Begin(0);
  FetchAll();
  nodes_.down = "node1";
  nodes_[0].names->AskAhead(Names(all_));
  nodes_[0].names->AskAhead(Names(all_));
  EXPECT_EQ(nodes_.asked, 2u);  // each once
  nodes_.down = "";
  std::set<uint64_t> shown;
  for (const uint64_t name : all_) shown.insert(nodes_.Ask(0, name));
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_EQ(nodes_[0].names->Warning(), "");
}

// A lookup waits once for an owner that is away, not once more for itself.
TEST_F(SharedNamesAheadTest, ALookupGivesUpWithTheQuestionAhead) {
  nodes_.Begin(0);
  FetchAll();
  std::vector<std::pair<SharedNames::Question, SharedNames::Answer>> waiting;
  nodes_.ask = [&](const SharedNames::Question& question,
                   SharedNames::Answer answer) {
    waiting.emplace_back(question, std::move(answer));
  };
  nodes_[0].names->AskAhead(Names(all_));
  ASSERT_EQ(waiting.size(), 2u);
  const uint64_t name = waiting[0].first.names.front();
  std::thread reader([&] { EXPECT_EQ(nodes_.Ask(0, name), name); });
  std::this_thread::sleep_for(SharedNames::kWithin +
                              std::chrono::milliseconds(50));
  waiting[0].second(absl::UnavailableError("gone"));
  reader.join();
  EXPECT_EQ(nodes_.asked, 2u);
  EXPECT_THAT(nodes_[0].names->Warning(), testing::HasSubstr("up to 1 "));
}

// Any number may come instead of a sample.
TEST_F(SharedNamesAheadTest, AnswersThatCannotBeAreNotBelieved) {
  nodes_.Begin(0);
  FetchAll();
  uint64_t lies = 0;
  nodes_.ask = [&](const SharedNames::Question& question,
                   SharedNames::Answer answer) {
    if (question.purpose != NamePurpose::kAhead) return answer(nodes_.AnswerTo(question));
    ++lies;
    std::vector<uint64_t> samples(question.names.size(), 60 + lies);
    if (lies == 2) samples.clear();
    answer(std::move(samples));
  };
  nodes_[0].names->AskAhead(Names(all_));
  EXPECT_EQ(lies, 2u);
  std::set<uint64_t> shown;
  for (const uint64_t name : all_) shown.insert(nodes_.Ask(0, name));
  EXPECT_EQ(shown.size(), 60u);
  EXPECT_EQ(nodes_[0].names->Warning(), "");
}

// Who looks a name up while the question is under way waits for its answer.
TEST_F(SharedNamesAheadTest, ALookupTakesTheAnswerThatIsUnderWay) {
  nodes_.Begin(0);
  FetchAll();
  Mutex mu;
  std::vector<std::pair<SharedNames::Question, SharedNames::Answer>> waiting;
  nodes_.ask = [&](const SharedNames::Question& question,
                   SharedNames::Answer answer) {
    MutexLock lock(mu);
    waiting.emplace_back(question, std::move(answer));
  };
  nodes_[0].names->AskAhead(Names(all_));
  ASSERT_EQ(waiting.size(), 2u);
  const uint64_t name = waiting[0].first.names.front();
  std::thread reader([&] { nodes_.Ask(0, name); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const auto& [question, answer] : waiting) {
    answer(nodes_.AnswerTo(question));
  }
  reader.join();
  EXPECT_EQ(nodes_.asked, 2u);
}

}  // namespace
}  // namespace shufflefs::testing_support
