// SPDX-License-Identifier: Apache-2.0
// A member asks another which samples names show.
#include "core/peers/name_question.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/peers/peers.h"
#include "gtest/gtest.h"
#include "tests/core/io/reader_fixture.h"
#include "tests/core/peers/fake_network.h"

namespace shufflefs {
namespace {

using testing_support::FakeNetwork;
using testing_support::TempTree;
using AskedSamples = absl::StatusOr<std::vector<uint64_t>>;
using BindsNames = std::function<AskedSamples(const NameQuestion&)>;

// The first member asks, the second binds.
class NameQuestionTest : public ::testing::Test {
 protected:
  void Start(BindsNames bind) {
    tree_.File("file", "content");
    source_ = std::make_unique<SourceDir>(tree_.Source());
    catalogue_ =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    asker_ = Join(0, nullptr);
    owner_ = Join(1, std::move(bind));
  }
  void TearDown() override {
    asker_->Stop();
    owner_->Stop();
  }
  AskedSamples Ask(const NameQuestion& question) {
    auto answer = std::make_shared<std::promise<AskedSamples>>();
    asker_->AskNames(asker_->group(), 1, question, std::chrono::seconds(20),
                     [this, answer](AskedSamples samples) {
                       ++answers_;
                       answer->set_value(std::move(samples));
                     });
    return answer->get_future().get();
  }

  const NameQuestion question_{.view = "v", .binding = 9, .names = {4, 1, 4}};
  std::atomic<int> answers_{0};
  FakeNetwork network_{2};
  std::unique_ptr<Peers> asker_;
  std::unique_ptr<Peers> owner_;
  PeerService* owner_service_ = nullptr;

 private:
  std::unique_ptr<Peers> Join(size_t member, BindsNames bind) {
    Peers::Parts parts;
    parts.make_transport = [this, member](PeerTransportParts made) {
      owner_service_ = made.service;  // of the last who joins
      return network_.Maker(member)(std::move(made));
    };
    parts.source = source_.get();
    parts.catalogue = catalogue_;
    parts.share =
        *pool_->Open({.name = absl::StrCat("peers", member), .guarantee = 0});
    parts.bind = std::move(bind);
    return *Peers::Start(std::move(parts));
  }

  TempTree tree_;
  std::unique_ptr<SourceDir> source_;
  std::shared_ptr<const Catalogue> catalogue_;
  const std::shared_ptr<BufferPool> pool_ =
      BufferPool::Make({.bytes = uint64_t{1} << 20});
};

TEST_F(NameQuestionTest, TheOwnerAnswers) {
  NameQuestion heard;
  Start([&heard](const NameQuestion& question) {
    heard = question;
    std::vector<uint64_t> samples;
    for (uint64_t name : question.names) samples.push_back(100 + name);
    return samples;
  });
  const AskedSamples samples = Ask(question_);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(*samples, (std::vector<uint64_t>{104, 101, 104}));
  EXPECT_TRUE(heard == question_);
  EXPECT_EQ(answers_.load(), 1);
}

TEST_F(NameQuestionTest, ErrorsOfTheOwnerComeThrough) {
  Start([](const NameQuestion&) { return absl::NotFoundError("not mine"); });
  const AskedSamples samples = Ask(question_);
  EXPECT_TRUE(absl::IsNotFound(samples.status())) << samples.status();
  EXPECT_EQ(samples.status().message(), "not mine");
}

TEST_F(NameQuestionTest, NobodyBindsForOthers) {
  Start(nullptr);
  const AskedSamples samples = Ask(question_);
  EXPECT_TRUE(absl::IsFailedPrecondition(samples.status()));
  EXPECT_EQ(samples.status().message(), "no names are bound for others");
}

TEST_F(NameQuestionTest, AMemberThatIsNotJoinedIsUnavailable) {
  Start([](const NameQuestion&) { return std::vector<uint64_t>(3); });
  network_.SetJoined(1, false);
  EXPECT_TRUE(absl::IsUnavailable(Ask(question_).status()));
  network_.SetJoined(1, true);
  EXPECT_TRUE(Ask(question_).ok());
}

// An answer may be lost, so that it is not known whether the names are bound.
TEST_F(NameQuestionTest, AQuestionMayBeAskedAgain) {
  int bound = 0;
  Start([&bound](const NameQuestion& question) {
    ++bound;
    return question.names;
  });
  network_.FailSome(200);
  int good = 0;
  for (int i = 0; i < 200; ++i) {
    const AskedSamples samples = Ask(question_);
    if (samples.ok()) {
      EXPECT_EQ(*samples, question_.names);
      ++good;
    } else {
      EXPECT_TRUE(absl::IsUnavailable(samples.status())) << samples.status();
    }
  }
  EXPECT_EQ(answers_.load(), 200);
  EXPECT_GT(good, 0);
  EXPECT_GT(bound, good);
  EXPECT_LT(bound, 200);
}

TEST_F(NameQuestionTest, AfterStopNobodyAsksOrBinds) {
  int bound = 0;
  Start([&bound](const NameQuestion& question) {
    ++bound;
    return question.names;
  });
  owner_->Stop();
  EXPECT_TRUE(absl::IsUnavailable(Ask(question_).status()));
  EXPECT_EQ(bound, 0);
  asker_->Stop();
  bool here = false;
  asker_->AskNames(asker_->group(), 1, question_, std::chrono::seconds(20),
                   [&here](const AskedSamples& samples) {
                     here = absl::IsUnavailable(samples.status());
                   });
  EXPECT_TRUE(here);  // before AskNames returned
}

// A question may be under way while the daemon stops.
TEST_F(NameQuestionTest, WhoHasStoppedBindsNothing) {
  int bound = 0;
  Start([&bound](const NameQuestion& question) {
    ++bound;
    return question.names;
  });
  owner_->Stop();
  AskedSamples answer = std::vector<uint64_t>();
  owner_service_->BindNames(question_,
                            [&answer](const absl::StatusOr<NameAnswer>& bound) {
                              answer = bound.status();
                            });
  EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
  EXPECT_EQ(bound, 0);
}

}  // namespace
}  // namespace shufflefs
