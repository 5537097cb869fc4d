// SPDX-License-Identifier: Apache-2.0
// Names that are passed to the node that looks them up (brand.locality).
#include "core/binding/nodes/passed_names.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/binding/nodes/shared_names.h"
#include "core/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/policies/binder_fixture.h"
#include "tests/policies/shared_nodes.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::BinderData;
using testing_support::Binding;
using testing_support::MakeBinderData;
using testing_support::Nodes;
using testing_support::Shuffled;

struct Epochs {
  uint64_t own = 0;  // samples that were shown by the node that owns them
  uint64_t all = 0;
};

// Epochs in which each node reads every n-th name, as a sampler gives them.
Epochs ReadEpochs(const BinderData& data, double locality, uint64_t seed) {
  Nodes nodes(data, 4, Binding::kGroup, locality);
  Rng rng(RandomKey{seed});
  Epochs epochs;
  const uint64_t count = data.grouping.sample_count();
  for (uint64_t epoch = 1; epoch <= 10; ++epoch) {
    nodes.Begin(epoch);
    std::set<uint64_t> samples;
    const std::vector<uint64_t> order = Shuffled(count, rng);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t sample = nodes.Read(i % 4, order[i]);
      samples.insert(sample);
      ++epochs.all;
      epochs.own +=
          nodes[i % 4].names->HolderOf(SampleId(sample))->self ? 1 : 0;
    }
    EXPECT_EQ(samples.size(), count);
  }
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(nodes[i].names->Warning(), "");
  return epochs;
}

double OwnShare(const BinderData& data, double locality) {
  const Epochs epochs = ReadEpochs(data, locality, 7);
  return static_cast<double>(epochs.own) / static_cast<double>(epochs.all);
}

// Of four nodes each shows a quarter of its own samples by chance.
TEST(PassedNamesTest, LocalityIsHowFarANodeShowsItsOwnSamples) {
  const auto data = MakeBinderData({1000, 600, 400}, 400, 8, true);
  EXPECT_NEAR(OwnShare(*data, 0), 0.25, 0.02);
  EXPECT_NEAR(OwnShare(*data, 0.5), 0.25 + 0.5 * 0.75, 0.04);
  EXPECT_GT(OwnShare(*data, 1), 0.94);
}

// Small groups leave little choice: a node owns five samples of each, more or
// less, and a sampler gives it more names of some.
TEST(PassedNamesTest, SmallGroupsAreLocalToo) {
  const auto data =
      MakeBinderData(std::vector<uint32_t>(60, 20), 400, 5, false);
  EXPECT_GT(OwnShare(*data, 1), 0.5);
}

// One node reads nearly everything, so the others lend it their samples.
TEST(PassedNamesTest, ANodeThatReadsMostShowsAllSamples) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey{seed});
    const auto data = MakeBinderData({90, 7, 1, 33}, 60, 4, true);
    Nodes nodes(*data, static_cast<uint32_t>(2 + rng.Bounded(4)),
                Binding::kGroup, 1);
    nodes.Begin(1);
    std::set<uint64_t> samples;
    for (const uint64_t name : Shuffled(131, rng)) {
      const auto node = static_cast<uint32_t>(
          rng.Bounded(10) > 0 ? 0 : rng.Bounded(nodes.size()));
      samples.insert(nodes.Ask(node, name));
    }
    EXPECT_EQ(samples.size(), 131u);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].names->Warning(), "");
    }
  }
}

// A name that was passed, and that nobody has bound yet, is one sample for all.
TEST(PassedNamesTest, WhoeverElseAsksIsSentToTheNodeThatHasTheName) {
  const auto data = MakeBinderData({200}, 60, 8, true);
  Nodes nodes(*data, 3, Binding::kGroup, 1);
  nodes.Begin(1);
  std::vector<SampleId> names;
  for (uint64_t name = 0; name < 200; ++name) names.emplace_back(name);
  nodes[0].names->AskAhead(names);
  uint64_t own = 0;
  for (uint64_t name = 0; name < 200; ++name) {
    const uint64_t sample = nodes.Ask(1, name);
    EXPECT_EQ(nodes.Ask(2, name), sample);
    EXPECT_EQ(nodes.Ask(0, name), sample);
    own += nodes[0].names->HolderOf(SampleId(sample))->self ? 1 : 0;
  }
  EXPECT_GT(own, 60u);
}

// All nodes at once, with several readers each and names that are asked ahead.
TEST(PassedNamesTest, ReadersAtOnceShowEachSampleOnce) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey{seed});
    const auto data = MakeBinderData({300, 40, 8, 8, 8}, 100, 8, true);
    const uint64_t count = data->grouping.sample_count();
    Nodes nodes(*data, 3, Binding::kGroup, seed % 2 == 0 ? 1 : 0.5);
    nodes.Begin(1);
    const std::vector<uint64_t> order = Shuffled(count, rng);
    std::vector<uint64_t> shown(count);
    std::vector<std::thread> readers;
    for (uint64_t r = 0; r < 6; ++r) {
      readers.emplace_back([&, r] {
        for (uint64_t i = r; i < count; i += 6) {
          std::vector<SampleId> next;
          for (uint64_t j = i + 6; j < std::min(count, i + 60); j += 6) {
            next.emplace_back(order[j]);
          }
          if (i / 6 % 4 == 0) nodes[r % 3].names->AskAhead(next);
          shown[i] = nodes[r % 3].names->Bind(SampleId(order[i])).value();
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(std::set<uint64_t>(shown.begin(), shown.end()).size(), count);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(nodes[i].names->Warning(), "");
  }
}

// A node begins anew in mid-epoch. It knows what its readers opened, from its
// ledger, and the others tell what concerns it.
TEST(PassedNamesTest, ANodeThatBeginsAnewGoesOn) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey{seed});
    const auto data = MakeBinderData({120, 25, 3}, 60, 6, true);
    Nodes nodes(*data, 3, Binding::kGroup, 1);
    nodes.Begin(1);
    const std::vector<uint64_t> order = Shuffled(148, rng);
    const uint64_t kill_at = rng.Bounded(148);
    std::map<uint64_t, uint64_t> shown;
    std::vector<NameBinding> ledger;  // of node 1
    for (uint64_t i = 0; i < 148; ++i) {
      if (i == kill_at) {
        std::vector<NameBinding> bound = ledger;
        std::set<uint64_t> names;
        for (const NameBinding& pair : ledger) names.insert(pair.name);
        for (const uint32_t other : {0u, 2u}) {
          for (const NameBinding& pair :
               nodes[other].names->KnownOf(nodes[1].name)) {
            if (names.insert(pair.name).second) bound.push_back(pair);
          }
        }
        nodes.Start(nodes[1]);
        nodes[1].names->BeginEpoch(Seed(3), Epoch(1), nodes.Sharing(1, 101, 3),
                                   bound);
      }
      const auto node = static_cast<uint32_t>(i % 3);
      shown[order[i]] = nodes.Ask(node, order[i]);
      if (node == 1) ledger.push_back({order[i], shown[order[i]]});
    }
    std::set<uint64_t> samples;
    for (const auto& [name, sample] : shown) {
      samples.insert(sample);
      for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(nodes.Ask(i, name), sample) << "name " << name;
      }
    }
    EXPECT_EQ(samples.size(), 148u);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(nodes[i].names->Warning(), "");
  }
}

// The owner passed the name, and its answer was lost.
TEST(PassedNamesTest, ALostAnswerIsAskedForAgain) {
  const auto data = MakeBinderData({200}, 60, 8, true);
  Nodes nodes(*data, 2, Binding::kGroup, 1);
  nodes.Begin(1);
  Rng rng(RandomKey(4));
  nodes.ask = [&](const SharedNames::Question& question,
                  SharedNames::Answer answer) {
    auto said = nodes.AnswerTo(question);
    if (rng.Bounded(3) == 0) return answer(absl::UnavailableError("lost"));
    answer(std::move(said));
  };
  std::set<uint64_t> samples;
  for (const uint64_t name : Shuffled(200, rng)) {
    samples.insert(nodes.Ask(name % 2, name));
  }
  EXPECT_EQ(samples.size(), 200u);
  EXPECT_EQ(nodes[0].names->Warning(), "");
}

// Nor does a loan whose answer was lost cost a sample.
TEST(PassedNamesTest, ALostLoanIsAskedForAgain) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(RandomKey{seed});
    const auto data = MakeBinderData({200}, 60, 8, true);
    Nodes nodes(*data, 4, Binding::kGroup, 1);
    nodes.Begin(1);
    nodes.ask = [&](const SharedNames::Question& question,
                    SharedNames::Answer answer) {
      auto said = nodes.AnswerTo(question);
      if (rng.Bounded(4) == 0) return answer(absl::UnavailableError("lost"));
      answer(std::move(said));
    };
    std::set<uint64_t> samples;
    for (const uint64_t name : Shuffled(200, rng)) {
      samples.insert(nodes.Ask(rng.Bounded(9) == 0 ? 1 : 0, name));
    }
    EXPECT_EQ(samples.size(), 200u);
    EXPECT_EQ(nodes[0].names->Warning(), "");
  }
}

// A lender that stays with another epoch keeps no reader waiting.
TEST(PassedNamesTest, ALenderOfAnotherEpochCostsItsSamplesOnly) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  Nodes nodes(*data, 2, Binding::kGroup, 1);
  nodes.Begin(1);
  nodes.ask = [&](const SharedNames::Question& question,
                  SharedNames::Answer answer) {
    if (question.purpose == NamePurpose::kLend) {
      return answer(absl::FailedPreconditionError("another binding"));
    }
    answer(nodes.AnswerTo(question));
  };
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 60; ++name) {
    samples.insert(nodes[0].names->Bind(SampleId(name)).value());
  }
  EXPECT_GT(samples.size(), 30u);
  if (samples.size() < 60) {
    EXPECT_THAT(nodes[0].names->Warning(), HasSubstr("samples may come twice"));
  }
}

// A node that says that it has passed what it does not own, or to itself,
// cannot keep a reader waiting.
TEST(PassedNamesTest, AnswersThatCannotBeCostTheirNamesOnly) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  for (const uint64_t member : {uint64_t{0}, uint64_t{1}, uint64_t{2},
                                uint64_t{3}, uint64_t{1} << 62}) {
    Nodes nodes(*data, 3, Binding::kGroup, 1);
    nodes.Begin(1);
    nodes.ask = [&](const SharedNames::Question& question,
                    SharedNames::Answer answer) {
      answer(std::vector<uint64_t>(question.names.size(),
                                   SharedNames::kBoundBy + member));
    };
    for (uint64_t name = 0; name < 60; ++name) {
      nodes[0].names->Bind(SampleId(name));
    }
    // What is passed to a node twice as much as it owns shows its own samples.
    EXPECT_THAT(nodes[0].names->Warning(), HasSubstr("samples may come twice"));
  }
}

}  // namespace
}  // namespace shufflefs
