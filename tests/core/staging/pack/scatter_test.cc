// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/scatter.h"

#include <cstring>
#include <string>

#include "core/random/random.h"
#include "core/staging/pack/pack_format.h"
#include "gtest/gtest.h"
#include "tests/core/staging/pack/pack_fixture.h"

namespace shufflefs {
namespace {

// `bytes` bytes in pieces of random lengths, which lie in `memory`.
Scatter RandomPieces(Rng& rng, std::string& memory) {
  Scatter scatter;
  for (size_t at = 0; at < memory.size();) {
    const size_t take = std::min<size_t>(rng.Bounded(200), memory.size() - at);
    scatter.Append(iovec{memory.data() + at, take});
    at += take;
  }
  return scatter;
}

TEST(Scatter, CopiesAndChecksAsIfItWereOneStretch) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng{RandomKey(seed)};
    std::string from = testing_support::RandomBytes(rng, 1 + rng.Bounded(3000));
    std::string to(1 + rng.Bounded(3000), 'x');
    const Scatter source = RandomPieces(rng, from);
    const Scatter target = RandomPieces(rng, to);
    ASSERT_EQ(source.size(), from.size());
    const uint64_t from_at = rng.Bounded(from.size());
    const uint64_t to_at = rng.Bounded(to.size());
    const uint64_t length = std::min<uint64_t>(
        {from.size() - from_at, to.size() - to_at, rng.Bounded(3000)});
    std::string expected = to;
    expected.replace(to_at, length, from.substr(from_at, length));
    Copy(source, from_at, target, to_at, length);
    ASSERT_EQ(to, expected);
    if (length == 0) continue;
    EXPECT_EQ(PackCheckOf(target, to_at, length),
              PackCheck(absl::string_view(to).substr(to_at, length)));
  }
}

TEST(Scatter, TakesNoMoreThanWasSaid) {
  std::string memory(100, 'x');
  const iovec pieces[] = {{memory.data(), 40}, {memory.data() + 40, 60}};
  Scatter scatter;
  scatter.AppendUpTo(pieces, 50);
  EXPECT_EQ(scatter.size(), 50u);
  scatter.Append(iovec{nullptr, 0});
  EXPECT_EQ(scatter.size(), 50u);
}

}  // namespace
}  // namespace shufflefs
