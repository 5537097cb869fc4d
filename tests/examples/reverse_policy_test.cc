// SPDX-License-Identifier: Apache-2.0
// What shufflectl says of the example policy comes from its entry.
#include "tests/examples/reverse_policy.h"

#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mount-tools/ctl/check/check_report.h"
#include "mount-tools/ctl/shufflectl_app.h"
#include "policies/registry.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing::HasSubstr;

std::string Shufflectl(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{"/", &out, &err};
  RunShufflectl(arguments, context);
  return out.str() + err.str();
}

TEST(ReversePolicyTest, CheckSuggestsItInItsWords) {
  testing_support::TempTree tree;
  tree.File("a/1.jpg", "x");
  tree.File("a/2.jpg", "y");
  const Catalogue catalogue = tree.Scanned();
  CheckInput input;
  input.path = "/data";
  input.catalogue = &catalogue;
  const absl::StatusOr<CheckReport> report = MakeCheckReport(input);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(CheckText(*report),
              HasSubstr("shufflefs -o policy=reverse /data MOUNTPOINT\n"
                        "              for the last names first\n"));
}

TEST(ReversePolicyTest, IsSimulated) {
  EXPECT_THAT(Shufflectl({"simulate", "reverse", "reverse.skip=3", "--samples",
                          "1000", "--classes", "10"}),
              HasSubstr("reverse over "));
  EXPECT_THAT(Shufflectl({"simulate", "reverse", "--nodes", "3"}),
              HasSubstr("reverse: --nodes is for brand; use shufflectl "
                        "simulate brand"));
}

}  // namespace
}  // namespace shufflefs
