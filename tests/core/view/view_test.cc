// SPDX-License-Identifier: Apache-2.0
#include "core/view/view.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::OpenName;
using testing_support::Pass;
using testing_support::ViewFixture;

TEST(ViewTest, FindsTheEpochsOfAReaderAndShowsEachSampleOnce) {
  const unsigned seed = 1;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  ViewFixture fixture(3, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  milliseconds now{0};
  std::map<EntryId, EntryId> last;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    const auto shown = Pass(*view, fixture.Files(), now, random);
    std::set<EntryId> samples;
    for (const auto& [name, sample] : shown) samples.insert(sample);
    EXPECT_EQ(samples.size(), 300u);
    EXPECT_NE(shown, last);
    last = shown;
    EXPECT_EQ(view->EpochStatus().epoch, Epoch(epoch));
  }
  EXPECT_EQ(fixture.rebound, 3);
}

TEST(ViewTest, ASignalIsABoundaryAndRetainsNothing) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  OpenName(*view, fixture.Files()[0], milliseconds(1));
  ControlRequest request;
  request.config = view->config();
  request.next_epoch = true;
  auto prepared = view->Prepare(request);
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(view->Install(*std::move(prepared)), absl::OkStatus());
  EXPECT_EQ(view->EpochStatus().epoch, Epoch(1));
  EXPECT_EQ(view->EpochStatus().verdict, "signal");
  EXPECT_EQ(view->EpochStatus().retained, 0u);
  EXPECT_EQ(fixture.rebound, 1);
}

// [S-3.11e] An open that was looked up in an older epoch is sent back once.
TEST(ViewTest, SendsAnOpenOfAnOlderBindingBackOnce) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const EntryId name = fixture.Files()[0];
  const EntryId file = view->Lookup(name).shown;
  ControlRequest request;
  request.config = view->config();
  request.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  EXPECT_EQ(view->Open(file, getpid(), milliseconds(1)),
            View::OpenVerdict::kStale);
  EXPECT_EQ(view->Open(file, getpid(), milliseconds(1)),
            View::OpenVerdict::kServe);
}

// A thread that walked to a file before the boundary may open it after it, and
// after another one looked the file up under its new name.
TEST(ViewTest, AnOpenThatTheBoundaryOvertookIsSentBackWhoeverLookedUpSince) {
  ViewFixture fixture(1, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const std::vector<EntryId> files = fixture.Files();
  const EntryId walked_to = view->Lookup(files[0]).shown;
  ControlRequest request;
  request.config = view->config();
  request.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  for (const EntryId name : files) view->Lookup(name);
  const int32_t pid = getpid();
  EXPECT_EQ(view->Open(walked_to, pid, milliseconds(1)),
            View::OpenVerdict::kStale);
  EXPECT_EQ(view->EpochStatus().consumed, 0u);
  // From now on it walks in the new epoch.
  for (const EntryId name : files) {
    EXPECT_EQ(view->Open(view->Lookup(name).shown, pid, milliseconds(2)),
              View::OpenVerdict::kServe);
  }
  EXPECT_EQ(view->EpochStatus().consumed, 100u);
}

TEST(ViewTest, AnOpenThatAnOptionOvertookIsSentBackWhoeverLookedUpSince) {
  ViewFixture fixture(1, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const EntryId walked_to = view->Lookup(fixture.Files()[0]).shown;
  ControlRequest request;
  request.config = view->config();
  request.config.epoch_pad = 1;  // another tracker
  request.config_changed = request.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  for (const EntryId name : fixture.Files()) view->Lookup(name);
  EXPECT_EQ(view->Open(walked_to, getpid(), milliseconds(1)),
            View::OpenVerdict::kStale);
}

TEST(ViewTest, AnEpochThatIsAskedForIsTheOneThatBegins) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const auto shown_in = [&](uint64_t epoch) {
    ControlRequest request;
    request.config = view->config();
    request.set_epoch = Epoch(epoch);
    EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
    EXPECT_EQ(view->EpochStatus().epoch, Epoch(epoch));
    std::vector<EntryId> shown;
    for (const EntryId name : fixture.Files()) {
      shown.push_back(view->Lookup(name).shown);
    }
    return shown;
  };
  const std::vector<EntryId> third = shown_in(3);
  EXPECT_NE(shown_in(7), third);
  EXPECT_EQ(shown_in(3), third);
}

// What was opened of the new epoch before it was known is opened, by the
// tracker that other keys take with it, too.
TEST(ViewTest, ASwitchAtABoundaryLosesNoOpen) {
  ViewFixture fixture(3, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  std::mt19937 random(3);
  milliseconds now{0};
  Pass(*view, fixture.Files(), now, random);
  ControlRequest request;
  request.config = view->config();
  request.config.epoch_pad = 1;
  request.config_changed = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  for (uint64_t epoch = 1; epoch < 4; ++epoch) {
    const auto shown = Pass(*view, fixture.Files(), now, random);
    std::set<EntryId> samples;
    for (const auto& [name, sample] : shown) samples.insert(sample);
    EXPECT_EQ(samples.size(), 300u);
    EXPECT_EQ(view->EpochStatus().epoch, Epoch(epoch));
    EXPECT_EQ(view->EpochStatus().consumed, 300u);
    EXPECT_EQ(view->EpochStatus().verdict, "a");
  }
}

// The kernel asks once more after ESTALE and no third time. What it was told
// then, the name must go on showing over a boundary that comes before the open.
TEST(ViewTest, WhatAThreadThatWasSentBackWalksToIsRetainedOverTheBoundary) {
  ViewFixture fixture(1, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const std::vector<EntryId> files = fixture.Files();
  const int32_t pid = getpid();
  const int32_t other = pid + 1;
  milliseconds now{0};
  std::mt19937 random(1);
  // Opens names again until that is a boundary.
  const auto end_pass = [&](Epoch begun) {
    for (size_t k = 0; k < 40 && view->EpochStatus().epoch != begun; ++k) {
      OpenName(*view, files[k], now += milliseconds(20000));
    }
    ASSERT_EQ(view->EpochStatus().epoch, begun);
  };
  Pass(*view, files, now, random);
  end_pass(Epoch(1));
  for (size_t k = 0; k < 60; ++k) OpenName(*view, files[k], now);

  // A new thread is sent back once and looks its name up.
  ASSERT_EQ(view->Open(view->Lookup(files[70], other).shown, other, now),
            View::OpenVerdict::kStale);
  const EntryId walked_to = view->Lookup(files[70], other).shown;
  // Meanwhile the others end the epoch.
  for (size_t k = 60; k < 100; ++k) OpenName(*view, files[k], now);
  end_pass(Epoch(2));

  EXPECT_EQ(view->Lookup(files[70]).shown, walked_to);
  EXPECT_EQ(view->Open(walked_to, other, now), View::OpenVerdict::kServe);
}

// Until the kernel was told names may lead to what they showed before.
TEST(ViewTest, BelievesNoThreadBeforeTheKernelWasTold) {
  ViewFixture fixture(1, 100);
  View::Parts parts = fixture.Parts(ViewFixture::Config("lirs"));
  View* live = nullptr;
  int served = 0;
  parts.on_rebind = [&](bool) {
    for (const EntryId name : fixture.Files()) live->Lookup(name);
    for (int i = 0; i < 10; ++i) {
      const EntryId file = fixture.Files()[i];
      EXPECT_EQ(live->Open(file, getpid(), milliseconds(1)),
                View::OpenVerdict::kStale);
      EXPECT_EQ(live->Open(file, getpid(), milliseconds(1)),
                View::OpenVerdict::kServe);
      ++served;
    }
  };
  View view(std::move(parts));
  live = &view;
  ControlRequest request;
  request.config = view.config();
  request.next_epoch = true;
  EXPECT_EQ(view.Install(*view.Prepare(request)), absl::OkStatus());
  EXPECT_EQ(served, 10);
}

// What a listing bound, a thread may open once it has opened before: then it
// walked to the name after the kernel was told of the epoch.
TEST(ViewTest, AnOpenOfAListedNameIsBelievedOfAThreadThatOpenedSince) {
  ViewFixture fixture(1, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  const std::vector<EntryId> files = fixture.Files();
  const int32_t pid = getpid();
  const milliseconds now{0};
  using Verdict = View::OpenVerdict;
  const auto stale_once = [&](EntryId file, int32_t thread) {
    EXPECT_EQ(view->Open(file, thread, now), Verdict::kStale);
    EXPECT_EQ(view->Open(file, thread, now), Verdict::kServe);
  };
  stale_once(files[0], pid);
  ASSERT_TRUE(view->BindByListing());
  stale_once(files[1], pid);
  EXPECT_EQ(view->Open(files[2], pid, now), Verdict::kServe);
  stale_once(files[3], pid + 1);
  EXPECT_EQ(view->Open(files[4], pid + 1, now), Verdict::kServe);

  ControlRequest request;
  request.config = view->config();
  request.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  stale_once(files[5], pid);
  stale_once(files[6], pid);
  ASSERT_TRUE(view->BindByListing());
  stale_once(files[7], pid);
  EXPECT_EQ(view->Open(files[8], pid, now), Verdict::kServe);
  // Readers that cannot be told apart prove every name by a lookup.
  EXPECT_EQ(view->Open(files[9], 0, now), Verdict::kStale);
  EXPECT_FALSE(view->BindByListing());
}

TEST(ViewTest, BindsNothingByListingBeforeTheKernelWasTold) {
  ViewFixture fixture(1, 100);
  View::Parts parts;
  parts.setup = fixture.Setup(ViewFixture::Config("lirs"));
  parts.tools = fixture.Tools();
  parts.job_tracker = &fixture.job_tracker;
  View* view = nullptr;
  bool early = true;
  bool committed = false;
  parts.on_rebind = [&](bool) { early = view->BindByListing(); };
  parts.on_committed = [&] { committed = view->BindByListing(); };
  View live(std::move(parts));
  view = &live;
  EXPECT_TRUE(live.BindByListing());
  ControlRequest request;
  request.config = live.config();
  request.next_epoch = true;
  EXPECT_EQ(live.Install(*live.Prepare(request)), absl::OkStatus());
  EXPECT_FALSE(early);
  EXPECT_TRUE(committed);
}

TEST(ViewTest, APolicySwitchWaitsForTheBoundaryOnceSomethingWasRead) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  ControlRequest request;
  request.config = ViewFixture::Config("window");
  request.config_changed = true;
  // Nothing was read, so it takes effect at once.
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  EXPECT_EQ(view->setup()->policy->name(), "window");
  EXPECT_EQ(view->EpochStatus().epoch, Epoch(0));

  OpenName(*view, fixture.Files()[0], milliseconds(1));
  request.config.policy = "lirs";
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  EXPECT_EQ(view->setup()->policy->name(), "window");
  EXPECT_EQ(view->config().policy, "lirs");
  EXPECT_EQ(view->EpochStatus().state, "waiting");

  ControlRequest next;
  next.config = view->config();
  next.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(next)), absl::OkStatus());
  EXPECT_EQ(view->setup()->policy->name(), "lirs");
  EXPECT_EQ(view->EpochStatus().state, "running");
}

ControlRequest SwitchTo(const char* policy) {
  ControlRequest request;
  request.config = ViewFixture::Config(policy);
  request.config_changed = true;
  return request;
}

// Another job is a reason not to re-bind unasked, but a switch was asked for.
TEST(ViewTest, AForeignJobHoldsNamesButNoSwitch) {
  for (const bool switches : {false, true}) {
    std::mt19937 random(5);
    ViewFixture fixture(2, 50);
    const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
    milliseconds now{0};
    Pass(*view, fixture.Files(), now, random);
    const int32_t hidden = 0;
    view->Open(view->Lookup(fixture.Files()[0]).shown, hidden, now);
    if (switches) {
      EXPECT_EQ(view->Install(*view->Prepare(SwitchTo("window"))),
                absl::OkStatus());
    }
    Pass(*view, fixture.Files(), now, random);
    EXPECT_EQ(view->EpochStatus().epoch, Epoch(1));
    EXPECT_EQ(view->EpochStatus().held, switches ? 0u : 1u);
    EXPECT_EQ(view->setup()->policy->name(), switches ? "window" : "lirs");
  }
}

// Of a part of the names it is not known whether that was the whole pass.
TEST(ViewTest, ASwitchWaitsWhereTheEndOfAPassIsDoubted) {
  std::mt19937 random(6);
  ViewFixture fixture(2, 300);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  std::vector<EntryId> half = fixture.Files();
  testing_support::Shuffle(half, random);
  half.resize(300);
  milliseconds now{0};
  Pass(*view, half, now, random);
  EXPECT_EQ(view->Install(*view->Prepare(SwitchTo("window"))),
            absl::OkStatus());
  Pass(*view, half, now, random);
  EXPECT_EQ(view->EpochStatus().held, 1u);
  EXPECT_EQ(view->EpochStatus().state, "waiting");
  EXPECT_EQ(view->setup()->policy->name(), "lirs");
}

TEST(ViewTest, ALengthThatIsGivenWhileMountedIsHeeded) {
  std::mt19937 random(4);
  ViewFixture fixture(2, 300);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  ControlRequest request;
  request.config = view->config();
  request.config.epoch_length = 300;
  request.config_changed = request.next_epoch = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  milliseconds now{0};
  for (int pass = 0; pass < 6; ++pass) {  // a random half of the names each
    std::vector<EntryId> half = fixture.Files();
    testing_support::Shuffle(half, random);
    half.resize(300);
    Pass(*view, half, now, random);
  }
  EXPECT_EQ(view->EpochStatus().epoch, Epoch(6));
  EXPECT_EQ(view->EpochStatus().verdict, "b");
  EXPECT_EQ(view->EpochStatus().held, 0u);
}

TEST(ViewTest, ASwitchAtABoundaryRetainsTheNamesOfTheNewPass) {
  std::mt19937 random(6);
  ViewFixture fixture(2, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  milliseconds now{0};
  Pass(*view, fixture.Files(), now, random);
  ControlRequest request;
  request.config = ViewFixture::Config("window");
  request.config_changed = true;
  EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
  EXPECT_EQ(view->setup()->policy->name(), "lirs");
  const auto shown = Pass(*view, fixture.Files(), now, random);
  EXPECT_EQ(view->setup()->policy->name(), "window");
  std::set<EntryId> samples;
  for (const auto& [name, sample] : shown) samples.insert(sample);
  EXPECT_EQ(samples.size(), 200u);
  EXPECT_GT(view->EpochStatus().retained, 0u);
}

// The opens that showed a boundary were reads of the epoch that began with it.
TEST(ViewTest, ASwitchRightAfterAFoundBoundaryWaitsForTheNext) {
  std::mt19937 random(7);
  ViewFixture fixture(2, 100);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  milliseconds now{0};
  Pass(*view, fixture.Files(), now, random);
  std::vector<EntryId> names = fixture.Files();
  testing_support::Shuffle(names, random);
  std::set<EntryId> samples;
  for (const EntryId name : names) {
    now += milliseconds(100);
    const bool before = fixture.rebound > 0;
    samples.insert(OpenName(*view, name, now));
    if (before || fixture.rebound == 0) continue;
    ControlRequest request;
    request.config = ViewFixture::Config("window");
    request.config_changed = true;
    EXPECT_EQ(view->Install(*view->Prepare(request)), absl::OkStatus());
    EXPECT_EQ(view->setup()->policy->name(), "lirs");
    EXPECT_EQ(view->EpochStatus().state, "waiting");
  }
  EXPECT_EQ(view->EpochStatus().epoch, Epoch(1));
  EXPECT_EQ(samples.size(), 200u);
}

TEST(ViewTest, AWrongPolicyChangesNothing) {
  ViewFixture fixture(2, 10);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  ControlRequest request;
  request.config = ViewFixture::Config("no such policy");
  request.config_changed = true;
  const auto prepared = view->Prepare(request);
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(view->config().policy, "lirs");
}

TEST(ViewTest, SaysWhenTheMountHidesOpensThatItWants) {
  ViewFixture fixture(2, 20);
  const auto view =
      fixture.MakeView(ViewFixture::Config("lirs"), nullptr, false);
  const ViewEpochStatus status = view->EpochStatus();
  EXPECT_FALSE(status.consumed.has_value());
  ASSERT_EQ(status.warnings.size(), 1u);
  EXPECT_THAT(status.warnings[0], ::testing::HasSubstr("open=seen"));
}

TEST(ViewTest, FixedEpochsRepeatForEver) {
  ViewFixture fixture(2, 50);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  std::vector<EntryId> shown;
  for (const EntryId name : fixture.Files()) {
    shown.push_back(view->FixedBinding(Epoch(uint64_t{1} << 50))->Shown(name));
  }
  for (uint64_t epoch = 0; epoch < 40; ++epoch)
    view->FixedBinding(Epoch(epoch));
  size_t i = 0;
  for (const EntryId name : fixture.Files()) {
    EXPECT_EQ(view->FixedBinding(Epoch(uint64_t{1} << 50))->Shown(name),
              shown[i++]);
  }
}

// [S-3.6c] Until names show their own samples status does not say so.
TEST(ViewTest, SuspendsSubstitutionWhenNamesAreLeftOut) {
  // A client that trains on 90 % of the names of each class by its own split.
  std::mt19937 random(3);
  ViewFixture fixture(2, 200);
  const auto view = fixture.MakeView(ViewFixture::Config("lirs"));
  std::vector<EntryId> names = fixture.Files();
  names.resize(380);
  milliseconds now{0};
  for (int pass = 0; pass < 8; ++pass) {
    std::set<EntryId> samples;
    uint64_t moved = 0;
    for (const auto& [name, sample] : Pass(*view, names, now, random)) {
      samples.insert(sample);
      moved += name == sample ? 0 : 1;
    }
    EXPECT_EQ(samples.size(), names.size()) << "pass " << pass;
    if (view->EpochStatus().shows_own) EXPECT_EQ(moved, 0u);
  }
  EXPECT_TRUE(view->EpochStatus().suspended);
  EXPECT_TRUE(view->EpochStatus().shows_own);
  for (const EntryId name : fixture.Files()) {
    EXPECT_EQ(view->Lookup(name).shown, name);
  }
}

}  // namespace
}  // namespace shufflefs
