// SPDX-License-Identifier: Apache-2.0
#include "core/config/value_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "core/random/random.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;

TEST(ValueText, Numbers) {
  EXPECT_EQ(ParseNumber("0"), 0u);
  EXPECT_EQ(ParseNumber("18446744073709551615"),
            std::numeric_limits<uint64_t>::max());
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1e3", "0x1", "1.0",
                           "18446744073709551616", "1_000"}) {
    EXPECT_EQ(ParseNumber(text), absl::nullopt) << text;
  }
}

TEST(ValueText, Bytes) {
  EXPECT_EQ(ParseBytes("4KiB"), 4096u);
  EXPECT_EQ(ParseBytes("4 MiB"), uint64_t{4} << 20);
  EXPECT_EQ(ParseBytes("16777215TiB"), uint64_t{16777215} << 40);
  EXPECT_EQ(ParseBytes("8G"), uint64_t{8} << 30);
  EXPECT_EQ(ParseBytes("8g"), uint64_t{8} << 30);
  EXPECT_EQ(ParseBytes("8GB"), 8'000'000'000u);
  EXPECT_EQ(ParseBytes("0.5GiB"), uint64_t{512} << 20);
  EXPECT_EQ(ParseBytes("1.5 kB"), 1500u);
  EXPECT_EQ(ParseBytes("1e6"), 1'000'000u);
  EXPECT_EQ(ParseBytes("12B"), 12u);
  for (const char* text :
       {"KiB", "4KiBKiB", "16777216TiB", "4 KiB ", "-1", "+1", ".5G", "1e40",
        "inf", "nan", "0x10", "1.2.3", "lots", "", "50%"}) {
    EXPECT_EQ(ParseBytes(text), absl::nullopt) << text;
  }
  EXPECT_EQ(FormatBytes(4096), "4KiB");
  EXPECT_EQ(FormatBytes(5000), "5000");
  EXPECT_EQ(FormatBytes(0), "0");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{25} << 30), "25.0 GiB");
  EXPECT_EQ(HumanBytes(uint64_t{250} << 30), "250 GiB");
}

TEST(ValueText, Durations) {
  EXPECT_EQ(ParseDuration("10s"), milliseconds(10000));
  EXPECT_EQ(ParseDuration("10"), milliseconds(10000));
  EXPECT_EQ(ParseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParseDuration("2min"), milliseconds(120000));
  EXPECT_EQ(ParseDuration("1h"), milliseconds(3600000));
  for (const char* text :
       {"", "s", "1.5s", "-1s", "1d", "1m", "18446744073709551616ms"}) {
    EXPECT_EQ(ParseDuration(text), absl::nullopt) << text;
  }
  const auto now = std::chrono::steady_clock::now();
  for (const char* text : {"9999999h", "9223372036854775807ms",
                           "9223372036854775808ms", "18446744073709551615ms"}) {
    SCOPED_TRACE(text);
    const auto time = ParseDuration(text);
    ASSERT_TRUE(time.has_value());
    EXPECT_EQ(*time, std::chrono::hours(365 * 24));
    EXPECT_GT(now + *time, now);
  }
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0s");
}

TEST(ValueText, Counts) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(1281167), "1,281,167");
}

TEST(ValueText, WhatIsPrintedIsReadBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  Rng random{RandomKey(seed)};
  for (int i = 0; i < 10000; ++i) {
    const uint64_t value = random.Next() >> (random.Next() % 64);
    EXPECT_EQ(ParseBytes(FormatBytes(value)), value);
    const milliseconds time(value >> 30);  // below a year
    EXPECT_EQ(ParseDuration(FormatDuration(time)), time);
  }
}

}  // namespace
}  // namespace shufflefs
