// SPDX-License-Identifier: Apache-2.0
// Several nodes bind the names of one view together, and answer late, wrongly
// or not at all, or join and begin anew.
#include <algorithm>
#include <atomic>
#include <cmath>
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
using testing_support::Asked;
using testing_support::BinderData;
using testing_support::MakeBinderData;
using testing_support::Node;
using testing_support::Nodes;
using testing_support::Shuffled;

TEST(SharedNamesTest, AnOwnerThatDoesNotAnswerCostsItsNamesOnly) {
  const auto data = MakeBinderData({120}, 60, 8, true);
  Nodes nodes(*data, 3);
  nodes.Begin(1);
  nodes.down = nodes[1].name;
  uint64_t own = 0;
  for (uint64_t name = 0; name < 120; ++name) {
    const SampleId sample = nodes[0].names->Bind(SampleId(name));
    if (sample.value() == name) ++own;
    EXPECT_EQ(nodes[0].names->Bind(SampleId(name)), sample) << "it keeps it";
    EXPECT_EQ(nodes[0].names->Bound(SampleId(name)), sample);
  }
  EXPECT_GE(own, 38u);
  EXPECT_LE(own, 48u);
  EXPECT_THAT(nodes[0].names->Warning(), HasSubstr("samples may come twice"));
  EXPECT_EQ(nodes[2].names->Warning(), "");
}

TEST(SharedNamesTest, AnOwnerOfAnotherEpochIsAskedAgain) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  std::map<uint64_t, int> tries;
  nodes.ask = [&](const SharedNames::Question& question,
                  SharedNames::Answer answer) {
    if (++tries[question.names.front()] < 4) {
      return answer(absl::FailedPreconditionError("not yet"));
    }
    answer(nodes.AnswerTo(question));
  };
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 60; ++name) {
    samples.insert(nodes.Ask(0, name));
  }
  EXPECT_EQ(samples.size(), 60u);
  EXPECT_EQ(nodes[0].names->Warning(), "");
}

TEST(SharedNamesTest, OnlyTheOwnerAnswersForItsEpochOnly) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  int answered = 0;
  for (uint64_t name = 0; name < 60; ++name) {
    const auto here = nodes[0].names->BindForOthers(Asked(101, name));
    const auto there = nodes[1].names->BindForOthers(Asked(101, name));
    EXPECT_NE(here.ok(), there.ok()) << "one owner";
    EXPECT_TRUE(absl::IsNotFound(here.ok() ? there.status() : here.status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(
        nodes[0].names->BindForOthers(Asked(102, name)).status()));
    answered += here.ok() ? 1 : 0;
  }
  EXPECT_GT(answered, 20);
  EXPECT_FALSE(nodes[0].names->BindForOthers(Asked(101, 60)).ok());
  EXPECT_FALSE(nodes[0].names->BindForOthers(Asked(101, ~uint64_t{0})).ok());
}

// The owner is behind, and answers for its epoch when the asker has left it.
TEST(SharedNamesTest, AnAnswerOfTheEpochBeforeIsNotRemembered) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  for (int round = 0; round < 20; ++round) {
    Nodes nodes(*data, 2);
    nodes.Begin(1);
    std::atomic<int> asked{0};
    nodes.ask = [&](const SharedNames::Question& question,
                    SharedNames::Answer answer) {
      ++asked;
      if (question.binding == 102) return answer(nodes.AnswerTo(question));
      answer(absl::FailedPreconditionError("not yet"));
    };
    std::vector<std::thread> readers;
    for (uint64_t name = 0; name < 60; ++name) {
      readers.emplace_back([&, name] { nodes[0].names->Bind(SampleId(name)); });
    }
    while (asked < 40) std::this_thread::yield();
    nodes.Begin(2);
    for (std::thread& reader : readers) reader.join();
    for (uint64_t name = 0; name < 60; ++name) {
      EXPECT_EQ(nodes.Ask(0, name), nodes.Ask(1, name)) << name;
    }
  }
}

TEST(SharedNamesTest, AnAnswerThatCannotBeIsNotBelieved) {
  const auto data = MakeBinderData({30, 30}, 60, 8, true);
  for (const std::vector<uint64_t>& answer :
       {std::vector<uint64_t>{}, {1u << 20}, {59}, {2, 3}}) {
    Nodes nodes(*data, 2);
    nodes.Begin(1);
    nodes.ask = [&](const SharedNames::Question&, SharedNames::Answer done) {
      done(answer);
    };
    for (uint64_t name = 0; name < 30; ++name) {
      const uint64_t sample = nodes[0].names->Bind(SampleId(name)).value();
      EXPECT_LT(sample, 30u) << "of another group";
    }
  }
}

// A boundary does not wait for a node that hangs, and a lookup goes on in the
// next epoch.
TEST(SharedNamesTest, ALookupThatWaitsFollowsTheEpoch) {
  const auto data = MakeBinderData({60}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  std::vector<SharedNames::Answer> never;
  Mutex mu;
  nodes.ask = [&](const SharedNames::Question& question,
                  SharedNames::Answer answer) {
    if (question.binding == 102) return answer(nodes.AnswerTo(question));
    MutexLock lock(mu);
    never.push_back(std::move(answer));
  };
  std::vector<std::thread> readers;
  std::vector<uint64_t> shown(60);
  for (uint64_t name = 0; name < 60; ++name) {
    readers.emplace_back([&, name] {
      shown[name] = nodes[0].names->Bind(SampleId(name)).value();
    });
  }
  while (nodes.asked < 25) std::this_thread::yield();
  nodes.Begin(2);
  for (std::thread& reader : readers) reader.join();
  // Late answers of the epoch before change nothing.
  MutexLock lock(mu);
  for (const SharedNames::Answer& answer : never) {
    answer(std::vector<uint64_t>{0});
  }
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 60; ++name) {
    samples.insert(nodes.Ask(1, name));
  }
  EXPECT_EQ(samples.size(), 60u);
}

// Many threads of all nodes ask for the same names at once.
TEST(SharedNamesTest, ThreadsAgree) {
  const auto data = MakeBinderData({400, 37}, 100, 16, true);
  const uint64_t count = data->grouping.sample_count();
  Nodes nodes(*data, 3);
  for (uint64_t epoch = 1; epoch < 6; ++epoch) {
    nodes.Begin(epoch);
    std::vector<std::vector<uint64_t>> shown(6, std::vector<uint64_t>(count));
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        Rng rng(RandomKey(epoch * 10 + t));
        for (const uint64_t name : Shuffled(count, rng)) {
          shown[t][name] = nodes[t % 3].names->Bind(SampleId(name)).value();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint32_t t = 1; t < 6; ++t) EXPECT_EQ(shown[t], shown[0]);
    const std::set<uint64_t> samples(shown[0].begin(), shown[0].end());
    EXPECT_EQ(samples.size(), count);
  }
}

TEST(SharedNamesTest, WithoutAgreementNamesShowTheirOwn) {
  const auto data = MakeBinderData({20}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes[0].names->BeginEpoch(Seed(3), Epoch(0), NameSharing(), {});
  EXPECT_FALSE(nodes[0].names->HolderOf(SampleId(1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      nodes[0].names->BindForOthers(Asked(0, 1)).status()));
  for (uint64_t name = 0; name < 20; ++name) {
    EXPECT_EQ(nodes[0].names->Bind(SampleId(name)), SampleId(name));
  }
  EXPECT_EQ(nodes[0].names->Warning(), "") << "each comes once";
  EXPECT_EQ(nodes.asked, 0u);
}

// The first lookups wait until the nodes have agreed.
TEST(SharedNamesTest, TheFirstLookupsWaitForTheOtherNodes) {
  const auto data = MakeBinderData({40}, 60, 8, true);
  Nodes nodes(*data, 2);
  for (uint32_t i = 0; i < 2; ++i) {
    nodes[i].names->BeginEpoch(Seed(3), Epoch(0), NameSharing(), {});
  }
  std::vector<std::thread> readers;
  for (uint64_t name = 0; name < 40; ++name) {
    readers.emplace_back(
        [&, name] { nodes[name % 2].names->Bind(SampleId(name)); });
  }
  nodes.Begin(0);
  for (std::thread& reader : readers) reader.join();
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 40; ++name) {
    samples.insert(nodes.Ask(name % 2, name));
  }
  EXPECT_EQ(samples.size(), 40u);
  EXPECT_GT(nodes.asked, 0u);
}

// A node that joins later owns nothing until the next epoch.
TEST(SharedNamesTest, ANodeThatIsNoMemberAsksForAll) {
  const auto data = MakeBinderData({80}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  Node& late = nodes.Add();
  late.names->BeginEpoch(Seed(3), Epoch(1), nodes.Sharing(2, 101, 2), {});
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 80; ++name) {
    samples.insert(nodes.Ask(name % 3, name));
  }
  EXPECT_EQ(samples.size(), 80u);
  EXPECT_TRUE(late.pool->Fetches().empty());
  nodes.Begin(2);  // of all three
  samples.clear();
  for (uint64_t name = 0; name < 80; ++name) {
    samples.insert(nodes.Ask(name % 3, name));
  }
  EXPECT_EQ(samples.size(), 80u);
  EXPECT_FALSE(late.pool->Fetches().empty());
}

// A daemon that was restarted knows what its own readers had been shown.
TEST(SharedNamesTest, ARestartedNodeSaysWhatItDoesNotKnow) {
  const auto data = MakeBinderData({80}, 60, 8, true);
  Nodes nodes(*data, 2);
  nodes.Begin(1);
  std::vector<NameBinding> read;
  for (uint64_t name = 0; name < 30; ++name) {
    read.push_back({name, nodes.Ask(0, name)});
  }
  Node& again = nodes[0];
  const std::vector<NameBinding> told = nodes[1].names->KnownOf(again.name);
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(again.names->KnownOf(nodes[1].name).size(),
            static_cast<size_t>(std::count_if(
                read.begin(), read.end(), [&](const NameBinding& pair) {
                  return !nodes[0].names->HolderOf(SampleId(pair.sample))->self;
                })));
  again.names->BeginEpoch(Seed(3), Epoch(1), NameSharing(), read);
  EXPECT_EQ(again.names->Bind(SampleId(3)), SampleId(read[3].sample));
  const std::vector<NameBinding> known = again.names->KnownPairs();
  EXPECT_EQ(known, read);
  again.names->BeginEpoch(Seed(3), Epoch(1), nodes.Sharing(0, 101, 2), known);
  again.names->NoteEarlierRun();
  std::set<uint64_t> samples;
  for (uint64_t name = 0; name < 80; ++name) {
    samples.insert(nodes.Ask(0, name));
    if (name < 30) EXPECT_EQ(nodes.Ask(0, name), read[name].sample);
  }
  EXPECT_EQ(samples.size(), 80u);
  EXPECT_THAT(again.names->Warning(),
              HasSubstr("before this node joined the others"));
}

}  // namespace
}  // namespace shufflefs
