// SPDX-License-Identifier: Apache-2.0
// Two daemons on loopback: one asks the other which samples names show.
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

using testing::HasSubstr;

class NamesTest : public TwoNodes {
 protected:
  void SetUp() override { StartBoth(); }
  static NameQuestion About(const std::string& view, size_t count) {
    NameQuestion question{.view = view, .binding = 77, .names = {}};
    for (size_t i = 0; i < count; ++i) {
      question.names.push_back((uint64_t{1} << 63) + count * 31 - i);
    }
    return question;
  }
  absl::Status ErrorOf(const NameQuestion& question) {
    return a_->AskNames(b_name_, question).get().status();
  }
  static std::string TextOf(const PeerBytes& bytes) {
    std::string text;
    for (const iovec& piece : bytes.pieces) {
      text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    return text;
  }
  uint64_t Failed() const {
    uint64_t failed = 0;
    for (const auto& [name, traffic] : a_->transport->traffic()) {
      failed += traffic.failed;
    }
    return failed;
  }
};

TEST_F(NamesTest, EachNameHasItsSampleInOrder) {
  for (const size_t count : {size_t{1}, size_t{2}, kMostAskedNames}) {
    const NameQuestion question = About("train/\xff", count);
    const Node::Samples samples = a_->AskNames(b_name_, question).get();
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_EQ(samples->samples.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(samples->samples[i], SampleOf(question.names[i]));
    }
    EXPECT_TRUE(b_->service.questions().back() == question);
  }
  EXPECT_TRUE(a_->service.questions().empty());
  EXPECT_EQ(Failed(), 0u);
}

TEST_F(NamesTest, TheAnswerBringsBytes) {
  uint64_t sent = 0;
  for (const uint64_t room : {uint64_t{1}, uint64_t{100000}, kMostCarried}) {
    NameQuestion question = About("bytes", 3);
    question.room = room;
    const Node::Samples answer = a_->AskNames(b_name_, question).get();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->samples.size(), 3u);
    EXPECT_EQ(answer->carried, std::vector<uint32_t>{0});
    NameAnswer expected;
    FakeService::Carry(room, expected);
    EXPECT_EQ(answer->length, room);
    EXPECT_TRUE(TextOf(answer->bytes) == TextOf(expected.bytes)) << room;
    sent += room;
  }
  uint64_t received = 0;
  for (const auto& [name, traffic] : a_->transport->traffic()) {
    received += traffic.received;
  }
  EXPECT_EQ(received, sent);
}

// Either way, and beside reads.
TEST_F(NamesTest, ManyQuestionsAreUnderWay) {
  std::vector<std::pair<NameQuestion, std::future<Node::Samples>>> asked;
  std::vector<std::future<Node::Result>> read;
  for (size_t i = 0; i < 200; ++i) {
    const NameQuestion question = About("v", 1 + i % 50);
    asked.emplace_back(question, i % 2 == 0 ? a_->AskNames(b_name_, question)
                                            : b_->AskNames(a_name_, question));
    read.push_back(a_->Ask(b_name_, WholeFile("f", 1000)));
  }
  for (auto& [question, answer] : asked) {
    const Node::Samples samples = answer.get();
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_EQ(samples->samples.size(), question.names.size());
    EXPECT_EQ(samples->samples.back(), SampleOf(question.names.back()));
  }
  for (auto& each : read) EXPECT_TRUE(each.get().status.ok());
}

TEST_F(NamesTest, ErrorsOfTheServiceComeThroughAndCostNoTrust) {
  const absl::Status absent = ErrorOf(About("absent", 3));
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_EQ(absent.message(), "not owned: absent");
  const absl::Status other = ErrorOf(About("other", 3));
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_EQ(other.message(), "another binding");
  EXPECT_EQ(Failed(), 0u);
  EXPECT_TRUE(a_->HasJoined(b_name_));
}

TEST_F(NamesTest, AWrongQuestionIsNotSent) {
  for (const NameQuestion& wrong :
       {About("v", 0), About("v", kMostAskedNames + 1),
        About(std::string(kMostEpochText + 1, 'v'), 1)}) {
    const absl::Status status = ErrorOf(wrong);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_EQ(b_->service.asked.load(), 0);
}

TEST_F(NamesTest, AnotherNumberOfSamplesIsDataLoss) {
  for (const size_t count : {1, 2, 1000}) {
    const absl::Status status = ErrorOf(About("short", count));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  EXPECT_EQ(Failed(), 3u);
  EXPECT_TRUE(a_->HasJoined(b_name_));
}

TEST_F(NamesTest, ALateAnswerIsUnavailable) {
  const absl::Status late =
      a_->AskNames(b_name_, About("hang", 1), milliseconds(50)).get().status();
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("no answer in time"));
  b_->service.Release();  // nobody listens any more
  EXPECT_TRUE(Eventually([&] { return ErrorOf(About("v", 1)).ok(); }));
}

TEST_F(NamesTest, TheAskerStops) {
  std::vector<std::future<Node::Samples>> asked;
  for (int i = 0; i < 20; ++i) {
    asked.push_back(a_->AskNames(b_name_, About("hang", 2)));
  }
  ASSERT_TRUE(Eventually([&] { return b_->service.asked.load() == 20; }));
  a_->transport->Stop();
  for (auto& each : asked) {
    EXPECT_TRUE(absl::IsUnavailable(each.get().status()));
  }
  EXPECT_TRUE(absl::IsUnavailable(ErrorOf(About("v", 1))));
  b_->service.Release();
}

TEST_F(NamesTest, TheAskedOneStops) {
  auto asked = a_->AskNames(b_name_, About("hang", 2));
  ASSERT_TRUE(Eventually([&] { return b_->service.asked.load() == 1; }));
  b_->transport->Stop();
  EXPECT_TRUE(absl::IsUnavailable(asked.get().status()));
  b_->transport.reset();
  b_->service.Release();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(absl::IsUnavailable(ErrorOf(About("v", 1))));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(NamesTest, WhoIsNoMemberAnyMoreIsSaidSo) {
  auto group = std::make_shared<PeerGroup>();
  group->members.push_back({.name = "127.0.0.1:1", .why = ""});
  auto done = std::make_shared<std::promise<absl::Status>>();
  a_->transport->BindNames(group, 0, About("v", 1), milliseconds(20000),
                           [done](const Node::Samples& samples) {
                             done->set_value(samples.status());
                           });
  EXPECT_TRUE(absl::IsFailedPrecondition(done->get_future().get()));
}

}  // namespace
}  // namespace shufflefs::peers
