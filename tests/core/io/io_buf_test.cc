// SPDX-License-Identifier: Apache-2.0
#include "core/io/io_buf.h"

#include <cstring>
#include <string>

#include "core/random/random.h"
#include "core/staging/pack/pack_format.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs {
namespace {

// `bytes` bytes in pieces of random lengths, which lie in `memory`.
IoBuf RandomPieces(Rng& rng, std::string& memory) {
  IoBuf buffer;
  for (size_t at = 0; at < memory.size();) {
    const size_t take = std::min<size_t>(rng.Bounded(200), memory.size() - at);
    buffer.Append(iovec{memory.data() + at, take});
    at += take;
  }
  return buffer;
}

TEST(IoBufTest, CopiesAndChecksAsIfItWereOneStretch) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    std::string from = testing_support::RandomBytes(rng, 1 + rng.Bounded(3000));
    std::string to(1 + rng.Bounded(3000), 'x');
    const IoBuf source = RandomPieces(rng, from);
    const IoBuf target = RandomPieces(rng, to);
    ASSERT_EQ(source.size(), from.size());
    const uint64_t from_at = rng.Bounded(from.size());
    const uint64_t to_at = rng.Bounded(to.size());
    const uint64_t length = std::min<uint64_t>(
        {from.size() - from_at, to.size() - to_at, rng.Bounded(3000)});
    std::string expected = to;
    expected.replace(to_at, length, from.substr(from_at, length));
    Copy(source, from_at, target, to_at, length);
    ASSERT_EQ(to, expected);
    EXPECT_EQ(target.Read(to_at, length), to.substr(to_at, length));
    std::string pieces;
    for (const iovec& piece : target.Range(to_at, length)) {
      pieces.append(static_cast<char*>(piece.iov_base), piece.iov_len);
    }
    EXPECT_EQ(pieces, to.substr(to_at, length));
    if (length == 0) continue;
    EXPECT_EQ(target.at(to_at), to.data() + to_at);
    EXPECT_EQ(PackCheckOf(target, to_at, length),
              PackCheck(absl::string_view(to).substr(to_at, length)));
  }
}

// Whole pages and others, of which many lie side by side.
TEST(IoBufTest, EveryByteIsFound) {
  Rng rng{RandomKey(5)};
  std::string memory = testing_support::RandomBytes(rng, 400'000);
  IoBuf buffer;
  std::string expected;
  while (buffer.size() < 600'000) {
    const size_t length =
        rng.Bounded(3) == 0 ? rng.Bounded(9000) : 4096 * (1 + rng.Bounded(3));
    const size_t at = rng.Bounded((memory.size() - length) / 4096) * 4096;
    buffer.Append(iovec{memory.data() + at, length / 2});
    buffer.Append(iovec{memory.data() + at + length / 2, length - length / 2});
    expected.append(memory, at, length);
  }
  ASSERT_EQ(buffer.size(), expected.size());
  for (uint64_t at = 0; at < expected.size(); ++at) {
    ASSERT_EQ(*buffer.at(at), expected[at]) << at;
  }
  EXPECT_EQ(buffer.Read(0, buffer.size()), expected);
}

TEST(IoBufTest, TakesNoMoreThanWasSaid) {
  std::string memory(100, 'x');
  const iovec pieces[] = {{memory.data(), 40}, {memory.data() + 40, 60}};
  IoBuf buffer;
  buffer.AppendUpTo(pieces, 50);
  EXPECT_EQ(buffer.size(), 50u);
  buffer.Append(iovec{nullptr, 0});
  EXPECT_EQ(buffer.size(), 50u);
}

}  // namespace
}  // namespace shufflefs
