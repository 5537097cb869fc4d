// SPDX-License-Identifier: Apache-2.0
// What a lead makes of single messages. Whole jobs are in agreement_test.cc.
#include "core/job_epochs/epoch_lead.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using Kind = EpochMessage::Kind;
using Time = EpochLead::Time;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// The lead runs on node a. In a pass, b opens the first half of the names and a
// the second one.
class EpochLeadTest : public testing::Test {
 protected:
  static constexpr uint64_t kNames = 100;
  static constexpr uint64_t kHalf = kNames / 2;
  static std::vector<uint64_t> NamesFrom(uint64_t first, uint64_t count) {
    std::vector<uint64_t> names(count);
    std::iota(names.begin(), names.end(), first);
    return names;
  }

  EpochLeadTest()
      : lead_({.path = "",
               .self = "a",
               .detector = {.names = kNames},
               .now = now_,
               .send = [this](const std::string& to, EpochMessage message) {
                 sent_.emplace_back(to, std::move(message));
               }}) {
    lead_.SetMembers({"a", "b"}, {});
  }

  struct Told {
    uint64_t next = 0;   // EpochMessage::kToldBefore and kNoneBefore
    uint64_t round = 0;  // of the last poll that the member heard
    bool fresh = false;  // nothing was opened before these
  };
  void Tell(const std::string& from, const std::vector<uint64_t>& names,
            const Told& told) {
    EpochMessage message;
    message.kind = Kind::kOpens;
    message.from = from;
    message.epoch = EpochOf(from);
    message.stream = from == "a" ? 1 : 2;
    message.first = told_[from];
    message.next = told.next;
    message.round = told.round;
    message.fresh = told.fresh;
    for (const uint64_t name : names) {
      message.opens.push_back({.name = name, .reader = 1});
    }
    told_[from] += names.size();
    lead_.Hear(message, now_);
  }
  void Tell(const std::string& from, const std::vector<uint64_t>& names) {
    Tell(from, names, {.round = polled_[from]});
  }
  // A member shows what it was told to show.
  uint64_t EpochOf(const std::string& member) const {
    const std::vector<EpochMessage> holds = SentTo(member, Kind::kHold);
    return holds.empty() ? 0 : holds.back().next;
  }
  // Both begin the first epoch.
  void Begin(uint64_t round_of_b = 0) {
    const uint64_t next = EpochMessage::kNoneBefore;
    Tell("a", {}, {.next = next, .fresh = true});
    Tell("b", {}, {.next = next, .round = round_of_b, .fresh = true});
  }
  void Wait(uint64_t ms) {
    for (uint64_t i = 0; i < ms; ++i) {
      now_ += Time(1);
      lead_.Tick(now_);
    }
  }
  // The member answers the last poll.
  void Answer(const std::string& from) {
    for (const EpochMessage& poll : SentTo(from, Kind::kPoll)) {
      polled_[from] = std::max(polled_[from], poll.round);
    }
    Tell(from, {});
  }
  // Lets all wait for their answers, until nothing waits any more.
  void AnswerAll() {
    for (int i = 0; i < 4; ++i) {
      Wait(11);
      Answer("a");
      Answer("b");
    }
  }
  // Why the epochs were held.
  std::vector<std::string> Holds() const {
    std::vector<std::string> reasons;
    for (const EpochMessage& hold : SentTo("b", Kind::kHold)) {
      reasons.push_back(hold.reason);
    }
    return reasons;
  }
  std::vector<EpochMessage> SentTo(const std::string& to, Kind kind) const {
    std::vector<EpochMessage> found;
    for (const auto& [receiver, message] : sent_) {
      if (receiver == to && message.kind == kind) found.push_back(message);
    }
    return found;
  }

  std::vector<std::pair<std::string, EpochMessage>> sent_;
  Time now_{5000};
  EpochLead lead_;
  std::map<std::string, uint64_t> told_;    // opens, by member
  std::map<std::string, uint64_t> polled_;  // last poll heard, by member
};

TEST_F(EpochLeadTest, ItPreparesOnceAllNamesWereOpenedAndPollsAnswered) {
  Begin();
  Tell("a", NamesFrom(kHalf, kHalf));
  Tell("b", NamesFrom(0, kHalf));
  Tell("a", NamesFrom(kHalf, 20));
  EXPECT_THAT(SentTo("b", Kind::kPrepare), IsEmpty());
  AnswerAll();
  EXPECT_THAT(SentTo("b", Kind::kPrepare), Not(IsEmpty()));
}

// What b told when it heard polls of an earlier run of the lead, it told before
// the re-opens came.
TEST_F(EpochLeadTest, ReopensWaitForAnswersToThePollsOfThisRun) {
  const uint64_t of_earlier_run = 4000;
  polled_["b"] = of_earlier_run;
  Begin(of_earlier_run);
  Tell("a", NamesFrom(kHalf, kHalf));
  Tell("b", NamesFrom(0, kHalf));
  Tell("a", NamesFrom(kHalf, 20));
  for (int i = 0; i < 40; ++i) {
    Wait(11);
    Answer("a");
    Tell("b", {});  // it has heard of no new poll
  }
  EXPECT_THAT(SentTo("b", Kind::kPrepare), IsEmpty());
  AnswerAll();
  EXPECT_THAT(SentTo("b", Kind::kPrepare), Not(IsEmpty()));
}

// b does not answer in time, so the re-opens of a are fed without it. Its late
// opens are out of their order.
TEST_F(EpochLeadTest, LateOpensOfAMemberThatWasNotAskedHoldTheBoundary) {
  Begin();
  Tell("a", NamesFrom(kHalf, kHalf));
  Tell("b", NamesFrom(0, kHalf - 1));
  Tell("a", NamesFrom(kHalf, 1));
  for (int i = 0; i < 150; ++i) {
    Wait(10);
    Answer("a");
  }
  Tell("b", {kHalf - 1});  // before it hears the poll
  Tell("a", NamesFrom(kHalf + 1, 20));
  AnswerAll();
  EXPECT_THAT(SentTo("b", Kind::kPrepare), IsEmpty());
  EXPECT_THAT(Holds(), ElementsAre("untrusted"));
}

// The end of the epoch before was not known to b when it opened these names, so
// what it opened then may never be told.
TEST_F(EpochLeadTest, WhoWasHeardOfInMidEpochHoldsTheBoundary) {
  const uint64_t next = EpochMessage::kNoneBefore;
  Tell("a", {}, {.next = next, .fresh = true});
  told_["b"] = 10;
  Tell("b", NamesFrom(0, kHalf), {.next = next});
  Tell("a", NamesFrom(kHalf, kHalf));
  Tell("a", NamesFrom(kHalf, 20));
  AnswerAll();
  EXPECT_THAT(SentTo("b", Kind::kPrepare), IsEmpty());
  EXPECT_THAT(Holds(), ElementsAre("untrusted"));
}

// They were told to another lead, but not to this one: the second open of a
// name is one of the next pass.
TEST_F(EpochLeadTest, OpensThatWereToldToAnotherLeadCountTwiceIfMadeTwice) {
  constexpr uint64_t kBefore = EpochMessage::kToldBefore;
  Tell("a", NamesFrom(kHalf, kHalf),
       {.next = kBefore | EpochMessage::kNoneBefore});
  Tell("b", NamesFrom(0, kHalf), {.next = kBefore | EpochMessage::kNoneBefore});
  Tell("b", {3}, {.next = kBefore});
  Tell("a", NamesFrom(kHalf, 20));
  AnswerAll();
  ASSERT_THAT(Holds(), ElementsAre("untrusted"));
  EXPECT_THAT(SentTo("b", Kind::kHold)[0].opened, ElementsAre(3));
}

// Where a pass ended that did not open all names is not certain, so it does not
// count among the boundaries that are held.
TEST_F(EpochLeadTest, AnEndThatIsNotCertainDoesNotMakeTheNextOneSo) {
  constexpr uint64_t kBefore = EpochMessage::kToldBefore;
  Tell("a", {kHalf}, {.next = kBefore | EpochMessage::kNoneBefore});
  Tell("b", {0}, {.next = kBefore | EpochMessage::kNoneBefore});
  Rng rng((RandomKey(1)));
  std::vector<uint64_t> order = NamesFrom(0, kNames);
  const auto pass = [&](uint64_t names) {  // each in an order of its own
    for (uint64_t i = kNames; i > 1; --i) {
      std::swap(order[i - 1], order[rng.Bounded(i)]);
    }
    for (uint64_t i = 0; i < names; i += 2) {
      Tell("a", {order[i]});
      Tell("b", {order[i + 1]});
      if (i % 10 == 0) AnswerAll();
    }
  };
  while (Holds().size() < 3) pass(kHalf);
  EXPECT_THAT(Holds(), Each("partial"));
  while (SentTo("b", Kind::kPrepare).empty()) pass(kNames);
  EXPECT_GE(absl::c_count(Holds(), "untrusted"), 2);
}

}  // namespace
}  // namespace shufflefs
