// SPDX-License-Identifier: Apache-2.0
// The orders of an epoch that are known in advance, against what a reader of
// the names sees.
#include "core/binding/sequence.h"

#include <random>
#include <set>
#include <vector>

#include "core/binding/listing.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ViewFixture;

// Its samples in the order in which they are first met.
std::vector<uint64_t> Samples(const Grouping& grouping,
                              const std::vector<EntryId>& files) {
  std::vector<uint64_t> samples;
  std::set<uint64_t> met;
  for (const EntryId file : files) {
    if (!grouping.place(file)) continue;
    const uint64_t sample = grouping.sample(file).value();
    if (met.insert(sample).second) samples.push_back(sample);
  }
  return samples;
}

std::vector<uint64_t> Positions(const Sequence& sequence, uint64_t samples) {
  std::vector<uint64_t> found;
  for (uint64_t p = 0; p < samples; ++p) {
    const SampleId sample = sequence.At(p);
    EXPECT_EQ(sequence.PositionOf(sample), p);
    found.push_back(sample.value());
  }
  return found;
}

struct Case {
  const char* policy;
  Substitute substitute;
  bool pairs;
};

class SequenceTest : public testing::TestWithParam<Case> {};

TEST_P(SequenceTest, IsWhatAReaderOfTheNamesMeets) {
  ViewFixture fixture(4, 60, GetParam().pairs);
  ViewConfig config = ViewFixture::Config(GetParam().policy);
  config.substitute = GetParam().substitute;
  const auto view = fixture.MakeView(config);
  const Catalogue& catalogue = *fixture.catalogue;
  const Grouping& grouping = view->setup()->dataset->grouping();
  for (const uint64_t epoch : {0, 1, 7}) {
    const std::shared_ptr<const Binding> binding =
        view->FixedBinding(Epoch(epoch));
    std::vector<EntryId> listed;
    std::vector<EntryId> sorted;
    for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
      const Listing listing(binding, DirId(d));
      for (uint32_t k = 0; k < listing.size(); ++k) {
        listed.push_back(binding->Shown(listing.At(k)));
      }
    }
    for (const EntryId file : fixture.Files()) {
      sorted.push_back(binding->Shown(file));
    }
    std::vector<uint64_t> ranked;
    for (uint64_t r = 0; r < grouping.sample_count(); ++r) {
      ranked.push_back(binding->plan().view_order().SampleAt(r));
    }
    const uint64_t samples = grouping.sample_count();
    EXPECT_EQ(Positions(*ListingSequence(binding), samples),
              Samples(grouping, listed));
    EXPECT_EQ(Positions(*RankSequence(binding), samples), ranked);
    if (config.substitute != Substitute::kTree) {
      EXPECT_EQ(Positions(*NameSequence(binding), samples),
                Samples(grouping, sorted));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SequenceTest,
    testing::Values(Case{"lirs", Substitute::kDirectory, false},
                    Case{"lirs", Substitute::kDirectory, true},
                    Case{"lirs", Substitute::kNever, false},
                    Case{"lirs", Substitute::kTree, false},
                    Case{"window", Substitute::kDirectory, false},
                    Case{"window", Substitute::kNever, true}));

// The rest in the same order, whichever samples are left out.
TEST_P(SequenceTest, GoesPastWhatIsLeftOut) {
  ViewFixture fixture(4, 60, GetParam().pairs);
  ViewConfig config = ViewFixture::Config(GetParam().policy);
  config.substitute = GetParam().substitute;
  const auto view = fixture.MakeView(config);
  const uint64_t samples = view->setup()->dataset->grouping().sample_count();
  const std::shared_ptr<const Binding> binding = view->FixedBinding(Epoch(2));
  using Make = std::unique_ptr<Sequence> (*)(std::shared_ptr<const Binding>);
  for (const Make make : {RankSequence, NameSequence, ListingSequence}) {
    const std::vector<uint64_t> all = Positions(*make(binding), samples);
    for (const uint64_t each : {1, 2, 7}) {
      auto left_out = std::make_shared<std::vector<SampleId>>();
      std::vector<uint64_t> rest;
      for (const uint64_t sample : all) {
        // In runs, too.
        if (sample % each == 0 || sample / 16 % 5 == 1) {
          left_out->push_back(SampleId(sample));
        } else {
          rest.push_back(sample);
        }
      }
      EXPECT_EQ(
          Positions(*SequenceWithout(make(binding), left_out), rest.size()),
          rest);
    }
  }
}

TEST(SequenceTest, KeepsWhatABoundaryRetained) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const auto plan = view->binding()->shared_plan();
  auto retained =
      RetainedBindings::Make(std::vector<NameBinding>{{3, 7}, {60, 60}});
  ASSERT_TRUE(retained.ok()) << retained.status();
  const auto binding =
      std::make_shared<const Binding>(plan, *std::move(retained), false);
  const auto names = NameSequence(binding);
  EXPECT_EQ(names->At(3), SampleId(7));
  EXPECT_EQ(names->PositionOf(SampleId(60)), 60u);
  const std::vector<uint64_t> listed =
      Positions(*ListingSequence(binding), 100);
  EXPECT_EQ(std::set<uint64_t>(listed.begin(), listed.end()).size(), 100u);
}

}  // namespace
}  // namespace shufflefs
