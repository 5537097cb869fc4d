// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The message of the InvalidArgument that `policy` is refused with.
std::string Refusal(absl::string_view policy, const PolicyOptions& options) {
  const auto made = MakePolicy(policy, options);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(made.status().message());
}

TEST(RegistryTest, MakesEveryPolicyByItsName) {
  for (absl::string_view name : PolicyNames()) {
    const auto made = MakePolicy(name, PolicyOptions());
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ((*made)->name(), name);
    EXPECT_THAT(std::string(PolicyHelp(name)), Not(IsEmpty()));
    EXPECT_THAT(std::string(PolicyHelp(name)), Not(HasSubstr("\n")));
  }
}

TEST(RegistryTest, NamesInTheOrderOfTheHelp) {
  EXPECT_THAT(PolicyNames(),
              ElementsAre("native", "lirs", "brand", "met", "reimu",
                          "clairvoyant", "window", "static"));
}

TEST(RegistryTest, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(
      Refusal("lrs", PolicyOptions()),
      AllOf(
          HasSubstr("\"lrs\""),
          HasSubstr(
              "native, lirs, brand, met, reimu, clairvoyant, window, static")));
  EXPECT_THAT(Refusal("", PolicyOptions()), HasSubstr("\"\""));
  EXPECT_THAT(Refusal("auto", PolicyOptions()), HasSubstr("\"auto\""));
  EXPECT_EQ(PolicyHelp("auto"), "");
}

TEST(RegistryTest, LirsPageIsAPowerOfTwoInRange) {
  PolicyOptions options;
  for (uint64_t page : {0, 1, 2048, 4095, 5000, 12288, 32 << 20}) {
    options.Set("lirs.page", page);
    EXPECT_THAT(Refusal("lirs", options),
                AllOf(HasSubstr("lirs.page"), HasSubstr(std::to_string(page))));
    // A later switch to lirs must not fail on it either.
    EXPECT_THAT(Refusal("native", options), HasSubstr("lirs.page"));
  }
  for (uint64_t page : {4096, 8192, 1 << 20, 16 << 20}) {
    options.Set("lirs.page", page);
    EXPECT_TRUE(MakePolicy("lirs", options).ok()) << page;
  }
}

TEST(RegistryTest, AQueueHoldsASample) {
  PolicyOptions options;
  options.Set("window.samples", 0);
  EXPECT_THAT(Refusal("window", options), HasSubstr("window.samples"));
  options.Set("window.samples", 1);
  EXPECT_TRUE(MakePolicy("window", options).ok());
}

TEST(RegistryTest, AChunkHoldsAFile) {
  PolicyOptions options;
  for (uint64_t chunk : {uint64_t{0}, uint64_t{65537}, uint64_t{1} << 40}) {
    options.Set("brand.chunk_files", chunk);
    EXPECT_THAT(Refusal("native", options),
                AllOf(HasSubstr("brand.chunk_files"),
                      HasSubstr(std::to_string(chunk))));
  }
  for (uint64_t chunk : {1, 64, 65536}) {
    options.Set("brand.chunk_files", chunk);
    EXPECT_TRUE(MakePolicy("native", options).ok()) << chunk;
  }
}

TEST(RegistryTest, OnlyLirsByPageWantsBlocks) {
  PolicyOptions options;
  options.Set("lirs.page", 65536);
  for (absl::string_view name : PolicyNames()) {
    const auto made = *MakePolicy(name, options);
    EXPECT_FALSE(made->wants_blocks()) << name;
    EXPECT_EQ(made->block_bytes(), 0u) << name;
  }
  options.Set("lirs.unit", "page");
  const auto made = *MakePolicy("lirs", options);
  EXPECT_TRUE(made->wants_blocks());
  EXPECT_EQ(made->block_bytes(), 65536u);
}

TEST(RegistryTest, WhoDecidesTheOrder) {
  for (absl::string_view name : PolicyNames()) {
    const auto made = *MakePolicy(name, PolicyOptions());
    EXPECT_EQ(made->consumption(),
              name == "native" || name == "static" || name == "reimu" ||
                      name == "clairvoyant"
                  ? Consumption::kSource
              : name == "brand" || name == "met" ? Consumption::kReactive
                                                 : Consumption::kPlanned)
        << name;
    EXPECT_EQ(made->keeps_first(), name == "static") << name;
    EXPECT_EQ(made->stages(), name == "met") << name;
    EXPECT_EQ(made->prefetch() != nullptr, name == "clairvoyant") << name;
    EXPECT_EQ(made->shuffles_records(), name == "lirs" || name == "reimu" ||
                                            name == "window" || name == "met" ||
                                            name == "brand")
        << name;
  }
  EXPECT_EQ(FeedbackPolicies(), "met");
}

}  // namespace
}  // namespace shufflefs
