// SPDX-License-Identifier: Apache-2.0
#include "core/view/substitution_guard.h"

#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::ViewFixture;

TEST(SubstitutionGuardTest, TheFirstSuspicionStaysAndStops) {
  ViewFixture fixture(1, 3);
  const auto setup = fixture.Setup(ViewFixture::Config("lirs"));
  SubstitutionGuard guard("root", nullptr);
  guard.Suspect(Suspicion::kNone);
  EXPECT_FALSE(guard.Stops(*setup));
  EXPECT_THAT(guard.Warnings(*setup), IsEmpty());
  guard.Suspect(Suspicion::kUnopened);
  guard.Suspect(Suspicion::kDisjointReaders);
  EXPECT_TRUE(guard.Stops(*setup));
  EXPECT_THAT(guard.Warnings(*setup),
              ElementsAre(HasSubstr(SuspicionText(Suspicion::kUnopened))));
}

// A plan is the same on every node.
TEST(SubstitutionGuardTest, APlanDoesNotAskHowManyNodesThereAre) {
  ViewFixture fixture(1, 3);
  const auto setup = fixture.Setup(ViewFixture::Config("lirs"));
  JobNodes nodes;
  SubstitutionGuard guard("root", &nodes);
  EXPECT_FALSE(guard.LearnNodes(*setup, 1, std::chrono::milliseconds(0)));
  EXPECT_FALSE(guard.Stops(*setup));
}

}  // namespace
}  // namespace shufflefs
