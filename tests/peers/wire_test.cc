// SPDX-License-Identifier: Apache-2.0
// What arrives is checked: sizes, paths, and answers of every shape.
#include "peers/transport/wire.h"

#include <grpcpp/support/slice.h>

#include <random>

#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

std::vector<iovec> Into(std::string& bytes, size_t piece) {
  std::vector<iovec> into;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    into.push_back({bytes.data() + at, std::min(piece, bytes.size() - at)});
  }
  return into;
}

grpc::ByteBuffer Sliced(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(bytes.substr(at, piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(WireTest, AnswersArriveInAnyPieces) {
  for (const uint64_t length : {1, 2, 127, 128, 129, 16383, 16384, 100000}) {
    const PeerExtent extent = WholeFile("f", length);
    auto answer = ToAnswer(FakeService::Answer(extent), length);
    ASSERT_TRUE(answer.ok()) << answer.status();
    for (const size_t piece : {size_t{7}, size_t{4096}, size_t{1} << 20}) {
      std::string bytes(length, '\0');
      EXPECT_EQ(FromAnswer(*answer, length, Into(bytes, piece)),
                absl::OkStatus());
      EXPECT_EQ(bytes, ContentOf(extent));
    }
  }
}

// Both ways by hand must be what protobuf writes and reads.
TEST(WireTest, AnswersAreTheMessageOfTheProtocol) {
  const PeerExtent extent = WholeFile("f", 300);
  v1::ExtentAnswer message;
  message.set_data(ContentOf(extent));
  std::string bytes(300, '\0');
  EXPECT_EQ(
      FromAnswer(Sliced(message.SerializeAsString(), 1), 300, Into(bytes, 300)),
      absl::OkStatus());
  EXPECT_EQ(bytes, message.data());
  EXPECT_EQ(*FromBuffer(*ToAnswer(FakeService::Answer(extent), 300)),
            message.SerializeAsString());
}

EpochMessage AnEpochMessage() {
  EpochMessage message;
  message.kind = EpochMessage::Kind::kPrepared;
  message.from = "10.0.0.1:7373";
  message.view = "train";
  message.epoch = 3;
  message.binding = ~uint64_t{0};
  message.wanted = 5;
  message.round = 6;
  message.stream = 7;
  message.first = 8;
  message.next = 9;
  message.shown = 10;
  message.keys = 11;
  message.shows = 2;
  message.members = {"10.0.0.1:7373", "n2:7373"};
  message.reason = "why";
  message.fresh = true;
  message.opens = {
      {.name = 1, .sample = 12, .reader = 2, .job = 3, .foreign = true},
      {.name = 4}};
  message.names = {5, 6, 7};
  message.opened = {8};
  message.pairs = {{1, 2}, {2, 1}};
  return message;
}

TEST(WireTest, MessagesAboutEpochsArriveAsTheyWere) {
  v1::TellRequest message;
  ToMessage(AnEpochMessage(), message);
  v1::TellRequest arrived;
  ASSERT_TRUE(arrived.ParseFromString(message.SerializeAsString()));
  const absl::StatusOr<EpochMessage> epoch = FromMessage(arrived);
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  EXPECT_TRUE(*epoch == AnEpochMessage());
}

TEST(WireTest, MessagesAboutEpochsAreBounded) {
  v1::TellRequest message;
  ToMessage(AnEpochMessage(), message);
  message.add_open_names(1);  // without a reader
  EXPECT_TRUE(absl::IsInvalidArgument(FromMessage(message).status()));
  EpochMessage large = AnEpochMessage();
  large.names.resize(kMostEpochEntries, 1);
  message.Clear();
  ToMessage(large, message);
  EXPECT_TRUE(absl::IsInvalidArgument(FromMessage(message).status()));
  // The longest that is allowed fits into a request.
  large = AnEpochMessage();
  large.members.assign(kMostEpochMembers + 1, "a");
  message.Clear();
  ToMessage(large, message);
  EXPECT_FALSE(FromMessage(message).ok());
  large.members.assign(100, std::string(kMostMemberBytes / 99, 'a'));
  message.Clear();
  ToMessage(large, message);
  EXPECT_FALSE(FromMessage(message).ok());
  large = AnEpochMessage();
  large.names.clear();
  large.opened.clear();
  large.pairs.clear();
  large.opens.assign(kMostEpochEntries, {1u << 27, ~0u, 1, false});
  message.Clear();
  ToMessage(large, message);
  EXPECT_TRUE(FromMessage(message).ok());
  EXPECT_LT(message.ByteSizeLong(), kMostRequest);
}

TEST(WireTest, QuestionsAboutNamesArriveAsTheyWere) {
  NameQuestion question{.view = "a/\xff",
                        .binding = ~uint64_t{0},
                        .names = {0, ~uint64_t{0}, 7},
                        .room = ~uint64_t{0},
                        .purpose = NamePurpose::kLend,
                        .wanted = 1,
                        .asker = "b\xfe"};
  for (const size_t count : {size_t{3}, size_t{1}, kMostAskedNames}) {
    question.names.resize(count, ~uint64_t{0});
    v1::NamesRequest message;
    ToMessage(question, message);
    EXPECT_LT(message.ByteSizeLong(), kMostRequest);
    v1::NamesRequest arrived;
    ASSERT_TRUE(arrived.ParseFromString(message.SerializeAsString()));
    const absl::StatusOr<NameQuestion> back = FromMessage(arrived);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == question);
  }
}

TEST(WireTest, QuestionsAboutNamesAreBounded) {
  const NameQuestion good{.view = "train", .binding = 1, .names = {2}};
  NameQuestion none = good;
  none.names.clear();
  NameQuestion many = good;
  many.names.resize(kMostAskedNames + 1);
  NameQuestion wanted = good;
  wanted.wanted = 2;
  NameQuestion most = good;
  most.names.resize(kMostRequest - 100);  // a byte for each
  NameQuestion long_path = good;
  long_path.view = std::string(kMostEpochText + 1, 'v');
  EXPECT_EQ(CheckQuestion(good), absl::OkStatus());
  for (const NameQuestion& bad : {none, many, most, long_path, wanted}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckQuestion(bad)));
    v1::NamesRequest message;
    ToMessage(bad, message);
    EXPECT_LT(message.ByteSizeLong(), kMostRequest);
    EXPECT_TRUE(absl::IsInvalidArgument(FromMessage(message).status()));
  }
}

TEST(WireTest, SamplesArriveInTheirOrder) {
  const std::vector<uint64_t> samples = {9, 0, ~uint64_t{0}, 9};
  EXPECT_EQ(FromAnswer(*ToAnswer(samples), 4, 0)->samples, samples);
  const std::string good = *FromBuffer(*ToAnswer(samples));
  EXPECT_EQ(FromAnswer(Sliced(good, 1), 4, 0)->samples, samples);
  // One by one, as the protocol allows it.
  EXPECT_EQ(FromAnswer(Sliced("\x08\x09\x08\x07", 4), 2, 0)->samples,
            (std::vector<uint64_t>{9, 7}));
  EXPECT_EQ(FromAnswer(Sliced(good, 1), 4, 9)->length, 0u);
}

TEST(WireTest, AnotherNumberOfSamplesIsDataLoss) {
  const std::string good =
      *FromBuffer(*ToAnswer(std::vector<uint64_t>{300, 301, 302}));
  for (const size_t count : {0, 1, 2, 4, 1024}) {
    const absl::Status status = FromAnswer(Sliced(good, 9), count, 0).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  for (const std::string& bad :
       {std::string(), good.substr(1), good.substr(0, good.size() - 1),
        good + "x", std::string("\x0a\xff\xff\xff\xff\x0f"),
        std::string("\x0a\x03\xff\xff\xff"), std::string(kMostRequest + 1, 'x'),
        "\x0a\xfc\xff\x0f" + std::string(kMostRequest - 4, '\1')}) {
    const absl::Status status =
        FromAnswer(Sliced(bad, 4096), 3, 1 << 20).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << bad.size() << ": " << status;
  }
  EXPECT_TRUE(absl::IsDataLoss(FromAnswer(grpc::ByteBuffer(), 3, 0).status()));
}

// An answer about three names that brings the files of two.
NameAnswer AnAnswerWithBytes(const std::string& text) {
  NameAnswer answer(std::vector<uint64_t>{7, 8, 9});
  answer.carried = {0, 2};
  auto owner = std::make_shared<std::string>(text);
  answer.bytes = {{{owner->data(), 3}, {owner->data() + 3, text.size() - 3}},
                  owner};
  answer.length = text.size();
  return answer;
}

TEST(WireTest, BytesThatComeWithNamesStayWhereTheyAre) {
  const std::string text(100000, 'q');
  const std::string good = [&] {
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(ToAnswer(AnAnswerWithBytes(text))->Dump(&slices).ok());
    std::string bytes;
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    return bytes;
  }();
  for (const size_t piece : {size_t{1000}, size_t{33}, good.size()}) {
    const absl::StatusOr<NameAnswer> back =
        FromAnswer(Sliced(good, piece), 3, text.size());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->samples, (std::vector<uint64_t>{7, 8, 9}));
    EXPECT_EQ(back->carried, (std::vector<uint32_t>{0, 2}));
    EXPECT_EQ(back->length, text.size());
    std::string came;
    for (const iovec& run : back->bytes.pieces) {
      came.append(static_cast<const char*>(run.iov_base), run.iov_len);
    }
    EXPECT_TRUE(came == text);
  }
  // Any protocol buffer library reads it, too.
  v1::NamesAnswer message;
  ASSERT_TRUE(message.ParseFromString(good));
  EXPECT_TRUE(message.data() == text);
  EXPECT_TRUE(absl::IsDataLoss(
      FromAnswer(Sliced(good, 99), 3, text.size() - 1).status()));
  for (size_t cut = 0; cut < 40; ++cut) {
    if (cut == 5) continue;  // the samples alone are an answer, too
    const std::string shorter = good.substr(0, cut);
    EXPECT_FALSE(FromAnswer(Sliced(shorter, 7), 3, 1 << 20).ok()) << cut;
    const std::string later = good + std::string(cut + 1, '\0');
    EXPECT_FALSE(FromAnswer(Sliced(later, 999), 3, 1 << 20).ok()) << cut;
  }
}

TEST(WireTest, BytesForNoNameAreDataLoss) {
  const std::vector<std::vector<uint32_t>> wrong = {
      {}, {3}, {0, 0}, {2, 0}, {0, 1, 2, 3}, {~0u}};
  for (const std::vector<uint32_t>& carried : wrong) {
    NameAnswer answer = AnAnswerWithBytes("some bytes");
    answer.carried = carried;
    const auto back = FromAnswer(*ToAnswer(answer), 3, 1000);
    EXPECT_TRUE(absl::IsDataLoss(back.status())) << carried.size();
  }
  NameAnswer answer(std::vector<uint64_t>{7, 8, 9});
  answer.carried = {1};  // and no bytes
  EXPECT_FALSE(FromAnswer(*ToAnswer(answer), 3, 1000).ok());
  answer.length = 5;
  EXPECT_TRUE(absl::IsInternal(ToAnswer(answer).status()));
}

TEST(WireTest, TheMemoryOfAnAnswerLivesAsLongAsIt) {
  auto owner = std::make_shared<std::string>("0123456789");
  const std::weak_ptr<std::string> alive = owner;
  PeerBytes bytes{.pieces = {{owner->data(), 4}, {owner->data() + 4, 6}},
                  .owner = owner};
  owner.reset();
  auto answer = ToAnswer(bytes, 10);
  bytes = {};
  EXPECT_FALSE(alive.expired());
  answer->Clear();
  EXPECT_TRUE(alive.expired());
}

TEST(WireTest, AnAnswerOfAnotherLengthIsNone) {
  const PeerExtent extent = WholeFile("f", 100);
  EXPECT_TRUE(
      absl::IsInternal(ToAnswer(FakeService::Answer(extent), 101).status()));
  v1::ExtentAnswer message;
  message.set_data(ContentOf(extent));
  const std::string good = message.SerializeAsString();
  std::string bytes(100, 'u');
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "x", good.substr(0, 101),
        std::string(102, '\0'), "\x12" + good.substr(1),
        std::string("\x0a\x63") + good.substr(2)}) {
    const absl::Status status =
        FromAnswer(Sliced(bad, 5), 100, Into(bytes, 100));
    EXPECT_TRUE(absl::IsDataLoss(status)) << bad.size() << ": " << status;
  }
  EXPECT_EQ(bytes, std::string(100, 'u'));
  EXPECT_TRUE(
      absl::IsDataLoss(FromAnswer(grpc::ByteBuffer(), 100, Into(bytes, 9))));
}

TEST(WireTest, OnlyPartsOfFilesBelowTheSourceAreAskedFor) {
  const PeerExtent good = WholeFile("a/b.c", 1000);
  EXPECT_EQ(CheckExtent(good), absl::OkStatus());
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"),
        std::string("a//b"), std::string("../a"), std::string("a/../b"),
        std::string("a/."), std::string("a\0b", 3), std::string(5000, 'a')}) {
    PeerExtent bad = good;
    bad.path = path;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckExtent(bad))) << path;
  }
  const uint64_t most = ~uint64_t{0};
  const std::vector<std::vector<uint64_t>> parts = {
      {1000, 0, 0},        {1000, 0, 1001},
      {1000, 1, 1000},     {1000, most, 2},
      {most, most - 1, 2}, {most, 0, most},
      {0, 0, 1},           {most, 0, kMostPeerExtent + 1}};
  for (const std::vector<uint64_t>& part : parts) {
    PeerExtent bad = good;
    bad.size = part[0];
    bad.offset = part[1];
    bad.length = part[2];
    EXPECT_TRUE(absl::IsInvalidArgument(CheckExtent(bad)))
        << part[0] << " " << part[1] << " " << part[2];
  }
}

TEST(WireTest, IdentitiesSurviveTheWay) {
  const PeerIdentity identity{.version = "0.2",
                              .dataset = 1,
                              .files = 2,
                              .keys = {{"policy", "lirs"}, {"x", "\xff"}}};
  const auto back = FromMessage(ToMessage(identity));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->version, "0.2");
  EXPECT_EQ(back->dataset, 1u);
  EXPECT_EQ(back->files, 2u);
  EXPECT_EQ(back->keys, identity.keys);
  PeerIdentity many;
  many.keys.resize(257);
  EXPECT_FALSE(FromMessage(ToMessage(many)).ok());
  many.keys.clear();
  EXPECT_TRUE(FromMessage(ToMessage(many)).ok());
  many.version = std::string(5000, 'v');
  EXPECT_FALSE(FromMessage(ToMessage(many)).ok());
}

TEST(WireTest, RandomBytesAreNoMessage) {
  std::mt19937 random(7);
  std::string bytes(64, '\0');
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 80, '\0');
    for (char& c : text) c = static_cast<char>(random());
    v1::ExtentRequest request;
    if (request.ParseFromString(text))
      FromMessage(request).status().IgnoreError();
    v1::Identity identity;
    if (identity.ParseFromString(text))
      FromMessage(identity).status().IgnoreError();
    FromAnswer(Sliced(text, 1 + random() % 9), 64, Into(bytes, 10))
        .IgnoreError();
    v1::NamesRequest names;
    if (names.ParseFromString(text)) {
      const absl::StatusOr<NameQuestion> question = FromMessage(names);
      EXPECT_EQ(question.ok(), names.names_size() > 0);
    }
    const auto answer = FromAnswer(Sliced(text, 1 + random() % 9), 2, 20);
    EXPECT_TRUE(!answer.ok() ||
                (answer->samples.size() == 2 && answer->length <= 20));
  }
}

TEST(WireTest, WhatPeersSayIsShownHarmlessly) {
  EXPECT_EQ(Shown("a\nb\x7f"), "a?b?");
  EXPECT_EQ(Shown(std::string(9999, 'x')).size(), 500u);
}

}  // namespace
}  // namespace shufflefs::peers
