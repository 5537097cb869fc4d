// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/backing_wire.h"

#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "fs/fuse/init_exchange.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fs/raw_bytes.h"

namespace shufflefs {
namespace {

constexpr uint32_t kExtended = 1u << 30;
constexpr uint32_t kBit37 = 1u << 5;  // of flags2

using testing_support::Put;

template <typename T>
T Get(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// As Linux 6.18 sends it: `flags2` follows the fields that all kernels have.
std::string Request(uint32_t opcode, uint32_t flags, uint32_t flags2) {
  std::string bytes;
  fuse_in_header header = {};
  header.len = sizeof(header) + 64;
  header.opcode = opcode;
  Put(header, bytes);
  for (const uint32_t word : {7u, 45u, 131072u, flags, flags2}) {
    Put(word, bytes);
  }
  bytes.resize(sizeof(header) + 64);
  return bytes;
}

// As libfuse writes it.
std::string Reply(int32_t error = 0) {
  std::string bytes;
  fuse_out_header header = {};
  header.error = error;
  header.unique = 2;
  fuse_init_out init = {};
  init.major = 7;
  init.minor = 38;
  init.flags = 1;
  init.max_write = 4096;
  header.len = sizeof(header) + sizeof(init);
  Put(header, bytes);
  Put(init, bytes);
  return bytes;
}

TEST(BackingWireTest, TheOfferIsABitOfTheSecondFlags) {
  EXPECT_TRUE(OffersBacking(Request(FUSE_INIT, kExtended, kBit37)));
  EXPECT_TRUE(OffersBacking(Request(FUSE_INIT, ~0u, ~0u)));
  EXPECT_FALSE(OffersBacking(Request(FUSE_INIT, ~0u, ~kBit37)));
  // The second flags are valid only if the first say so.
  EXPECT_FALSE(OffersBacking(Request(FUSE_INIT, ~kExtended, ~0u)));
  EXPECT_FALSE(OffersBacking(Request(FUSE_OPEN, ~0u, ~0u)));
}

TEST(BackingWireTest, AShortRequestOffersNothing) {
  const std::string request = Request(FUSE_INIT, ~0u, ~0u);
  for (const size_t size : {0, 40, 56, 59}) {
    EXPECT_FALSE(OffersBacking(absl::MakeConstSpan(request.data(), size)));
  }
  EXPECT_TRUE(OffersBacking(absl::MakeConstSpan(request.data(), 60)));
}

TEST(BackingWireTest, TheReplyAcceptsWithADepthOfOne) {
  std::string reply = Reply();
  const std::string before = reply;
  ASSERT_TRUE(AcceptBacking(absl::MakeSpan(reply.data(), reply.size())));
  EXPECT_EQ(Get<uint32_t>(reply, 16 + 12), 1 | kExtended);
  EXPECT_EQ(Get<uint32_t>(reply, 16 + 32), kBit37);
  EXPECT_EQ(Get<uint32_t>(reply, 16 + 36), 1u);
  for (size_t i = 0; i < reply.size(); ++i) {
    const bool changed = (i >= 28 && i < 32) || (i >= 48 && i < 56);
    if (!changed) {
      EXPECT_EQ(reply[i], before[i]) << i;
    }
  }
}

TEST(BackingWireTest, OtherRepliesStayAsTheyAre) {
  std::string error = Reply(-EINVAL);
  EXPECT_FALSE(AcceptBacking(absl::MakeSpan(error.data(), error.size())));
  EXPECT_EQ(error, Reply(-EINVAL));
  std::string old = Reply().substr(0, 40);  // of a kernel before 7.23
  EXPECT_FALSE(AcceptBacking(absl::MakeSpan(old.data(), old.size())));
}

TEST(BackingWireTest, AnOpenIsAnsweredWithTheFile) {
  const std::array<char, 16> answer = BackedOpenAnswer(0x0102030405, 77);
  const std::string bytes(answer.data(), answer.size());
  EXPECT_EQ(Get<uint64_t>(bytes, 0), 0x0102030405u);
  EXPECT_EQ(Get<uint32_t>(bytes, 8), (1u << 7) | (1u << 5));
  EXPECT_EQ(Get<int32_t>(bytes, 12), 77);
}

// A device whose other end the test holds.
class InitExchangeTest : public testing::Test {
 protected:
  InitExchangeTest() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    EXPECT_EQ(pipe(replies_.data()), 0);
  }
  ~InitExchangeTest() override {
    for (const int fd : {ends_[0], ends_[1], replies_[0], replies_[1]}) {
      close(fd);
    }
  }

  void Send(const std::string& request) {
    ASSERT_EQ(write(ends_[1], request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    std::array<char, 256> buffer;
    EXPECT_EQ(exchange_.Read(ends_[0], buffer.data(), buffer.size()),
              static_cast<ssize_t>(request.size()));
  }
  // What arrives of a reply of two pieces.
  std::string Answer(std::string reply) {
    const std::array<iovec, 2> pieces{
        {{reply.data(), 16}, {reply.data() + 16, reply.size() - 16}}};
    EXPECT_EQ(exchange_.Write(replies_[1], pieces.data(), 2),
              static_cast<ssize_t>(reply.size()));
    std::array<char, 256> buffer;
    const ssize_t got = read(replies_[0], buffer.data(), buffer.size());
    return {buffer.data(), static_cast<size_t>(got)};
  }

  std::array<int, 2> ends_{};
  std::array<int, 2> replies_{};
  InitExchange exchange_;
  int replied_ = 0;
};

TEST_F(InitExchangeTest, AnOfferIsAcceptedInTheFirstReplyAlone) {
  exchange_.Begin(true, [this] { ++replied_; });
  Send(Request(FUSE_INIT, ~0u, ~0u));
  EXPECT_TRUE(exchange_.offered());
  EXPECT_EQ(replied_, 0);
  EXPECT_NE(Answer(Reply()), Reply());
  EXPECT_TRUE(exchange_.accepted());
  EXPECT_EQ(replied_, 1);
  EXPECT_EQ(Answer(Reply()), Reply());
  EXPECT_EQ(replied_, 1);
}

// The number of the device may belong to another file by then.
TEST_F(InitExchangeTest, NothingIsWrittenAfterTheEnd) {
  exchange_.Begin(true, [this] { ++replied_; });
  Send(Request(FUSE_INIT, ~0u, ~0u));
  EXPECT_NE(Answer(Reply()), "");
  exchange_.End();
  std::string late = "late";
  const iovec piece{late.data(), late.size()};
  EXPECT_EQ(exchange_.Write(replies_[1], &piece, 1), -1);
  EXPECT_EQ(errno, ENODEV);
  int arrived = 0;
  EXPECT_EQ(ioctl(replies_[0], FIONREAD, &arrived), 0);
  EXPECT_EQ(arrived, 0);
}

TEST_F(InitExchangeTest, TheEndWaitsForWhatIsBeingWritten) {
  exchange_.Begin(true, nullptr);
  std::string large(size_t{1} << 20, 'x');  // more than a pipe holds
  const iovec piece{large.data(), large.size()};
  std::jthread writer([&] {
    EXPECT_EQ(exchange_.Write(replies_[1], &piece, 1),
              static_cast<ssize_t>(large.size()));
  });
  int arrived = 0;
  while (arrived == 0) ioctl(replies_[0], FIONREAD, &arrived);
  std::atomic<bool> ended{false};
  std::jthread end([&] {
    exchange_.End();
    ended = true;
  });
  std::string buffer(large.size(), 0);
  size_t got = 0;
  while (got < large.size()) {
    if (got < large.size() / 2) EXPECT_FALSE(ended);  // no pipe holds so much
    const ssize_t n = read(replies_[0], buffer.data(), buffer.size() / 4);
    ASSERT_GT(n, 0);
    got += static_cast<size_t>(n);
  }
}

TEST_F(InitExchangeTest, WithoutAnOfferTheReplyIsLibfuses) {
  exchange_.Begin(true, [this] { ++replied_; });
  Send(Request(FUSE_INIT, ~0u, 0));
  EXPECT_EQ(Answer(Reply()), Reply());
  EXPECT_FALSE(exchange_.offered());
  EXPECT_FALSE(exchange_.accepted());
  EXPECT_EQ(replied_, 1);
}

TEST_F(InitExchangeTest, AnOfferMayBeDeclined) {
  exchange_.Begin(false, [this] { ++replied_; });
  Send(Request(FUSE_INIT, ~0u, ~0u));
  EXPECT_EQ(Answer(Reply()), Reply());
  EXPECT_TRUE(exchange_.offered());
  EXPECT_FALSE(exchange_.accepted());
}

}  // namespace
}  // namespace shufflefs
