// SPDX-License-Identifier: Apache-2.0
// shufflectl simulate met: the analytical model.
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "nlohmann/json.hpp"
#include "policies/met/model/met_model_report.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;

constexpr double kGib = 1 << 30;

struct Result {
  int code;
  std::string out;
  std::string err;
};

Result Simulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{"/", &out, &err};
  const int code = RunShufflectl(arguments, context);
  return {code, out.str(), err.str()};
}

nlohmann::json Figures(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const Result result = Simulate(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

TEST(MetModelCommand, GivesThePapersFigures) {
  const nlohmann::json model = Figures({"met", "--capacity-tier", "400GiB"});
  EXPECT_EQ(model["least_repeat"], 10);
  EXPECT_TRUE(model["trace"].is_null());
  EXPECT_TRUE(model["tier_bytes_per_second"].is_null());
  const nlohmann::json& factors = model["factors"];
  ASSERT_EQ(factors.size(), 128u);
  EXPECT_NEAR(factors[127]["capacity_bytes_per_second"].get<double>() / kGib,
              30.4, 0.1);
  EXPECT_LT(factors[8]["samples_per_second"], 65000);
  EXPECT_EQ(factors[9]["samples_per_second"], 65000);
}

TEST(MetModelCommand, PrintsATable) {
  const Result result = Simulate({"met", "--capacity-tier", "400GiB"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("MIN(3.80 TiB/s / rf, 400 GiB/s)"));
  EXPECT_THAT(result.out, HasSubstr("   128         30.4 GiB        65,000  "
                                    "################################\n"));
  EXPECT_THAT(result.out, HasSubstr("\n     1          400 GiB         6,682  "
                                    "####\n"));
  EXPECT_THAT(result.out, HasSubstr("\n    10          389 GiB        65,000"));
  EXPECT_THAT(result.out, HasSubstr("no faster from rf 10 on\n"));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("mini-epoch")));
}

TEST(MetModelCommand, FollowsATrace) {
  const std::vector<std::string> asked = {"met",
                                          "met.mini_epochs=4",
                                          "--consume",
                                          "100",
                                          "--peak",
                                          "10",
                                          "--dataset",
                                          "1000",
                                          "--repeats",
                                          "1,4",
                                          "--tier",
                                          "1GiB",
                                          "--capacity-tier",
                                          "50"};
  const nlohmann::json trace = Figures(asked)["trace"];
  EXPECT_EQ(trace["repeats"], (std::vector<uint64_t>{1, 4, 4, 4}));
  EXPECT_EQ(trace["first_copy_seconds"], 5.0);
  EXPECT_EQ(trace["shown_seconds"], 32.5);
  EXPECT_EQ(trace["waited_seconds"], 2.5);
  EXPECT_EQ(trace["total_seconds"], 40.0);
  EXPECT_EQ(trace["copied_bytes"], 1000.0);
  EXPECT_EQ(trace["samples"], 325.0);
  const Result text = Simulate(asked);
  EXPECT_THAT(text.out, HasSubstr("1000 B in 4 mini-epochs of 250 B, shown 1, "
                                  "4, 4, 4 times each:\n"));
  EXPECT_THAT(text.out, HasSubstr("readers wait between them"));
}

TEST(MetModelCommand, RepeatsAreThoseOfTheKeys) {
  const auto repeats = [](const std::string& key, const std::string& tier) {
    return Figures({"met", "met.mini_epochs=2", key, "--capacity-tier",
                    tier})["trace"]["repeats"]
        .get<std::vector<uint64_t>>();
  };
  EXPECT_THAT(repeats("met.repeat=3", "400GiB"), testing::ElementsAre(3, 3));
  // Until the next one is there, at most 8.
  EXPECT_THAT(repeats("met.repeat=auto", "400GiB"), testing::ElementsAre(8, 8));
  EXPECT_THAT(repeats("met.repeat=auto", "1TiB"), testing::ElementsAre(4, 4));
}

TEST(MetModelCommand, WrongUsage) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"lirs", "--peak", "3"},
       "lirs: --peak is for met; use shufflectl simulate met"},
      {{"met", "--peak", "0"}, "--peak 0: must be from 1 to 1099511627776"},
      {{"met", "--tier", "fast"},
       "--tier fast: must be bytes, such as 400GiB or 3.8TiB"},
      {{"met", "--consume", "0"},
       "--consume 0: must be bytes, such as 400GiB or 3.8TiB"},
      {{"met", "--capacity-tier", "400XB"},
       "--capacity-tier 400XB: must be bytes, such as 400GiB or 3.8TiB"},
      {{"met", "--repeats", "1,0"},
       "--repeats 1,0: must be numbers from 1 to 1024, separated by commas"},
      {{"met", "--repeats", "1,2,3", "met.mini_epochs=2"},
       "--repeats 1,2,3: are more than met.mini_epochs=2"},
      {{"met", "seed=3", "--peak", "3"},
       "seed=3: the model takes met.mini_epochs=N and met.repeat=N only"},
      {{"met", "DATA", "--peak", "3"},
       "DATA: the model takes met.mini_epochs=N and met.repeat=N only"},
  };
  for (const auto& [arguments, message] : cases) {
    const Result result = Simulate(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_EQ(result.err, absl::StrCat("shufflectl: ", message, "\n"));
  }
}

TEST(MetModelCommand, RatesHaveDecimals) {
  EXPECT_EQ(ParseRate("3.5KiB"), 3584);
  EXPECT_EQ(ParseRate("400 GiB"), 400 * kGib);
  EXPECT_EQ(ParseRate("12"), 12);
  for (const char* text : {"", "GiB", "1.2.3", "-1", "5 XB", "nan"}) {
    EXPECT_FALSE(ParseRate(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace shufflefs
