// SPDX-License-Identifier: Apache-2.0
// Passes over containers that a daemon begins and another one goes on with.
#ifndef SHUFFLEFS_TESTS_CORE_VIEW_RESTARTED_PASS_H_
#define SHUFFLEFS_TESTS_CORE_VIEW_RESTARTED_PASS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs::testing_support {

// Two containers that share their records, and a ledger.
class RestartedPassTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBytes = 1000000;

  void SetUp() override {
    for (const char* name : {"s-00000-of-00002.bin", "s-00001-of-00002.bin"}) {
      tree_.File(name, std::string(kBytes, name[6]));
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    for (uint32_t i = 0; i < 2; ++i) {
      files_[i] =
          *catalogue_->FindPath(absl::StrCat("s-0000", i, "-of-00002.bin"));
    }
    Start();
  }

  // Ends the daemon that runs, if any, and begins another.
  void Start(ReadBefore read_before = ReadBefore::kNothing) {
    view_ = nullptr;
    ledger_ = nullptr;
    auto ledger = Ledger::Open(state_.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
    ViewConfig config = ContainerConfig();
    config.record.scope = RecordScope::kSet;
    auto parts = ContainerParts(
        config, catalogue_, ContainerTools(tree_, test_.pool), job_tracker_);
    ASSERT_TRUE(parts.ok()) << parts.status();
    parts->ledger = ledger_.get();
    parts->read_before = read_before;
    view_ = std::make_unique<View>(*std::move(parts));
  }
  // The same, with nothing of the state.
  void StartAnew(ReadBefore read_before) {
    view_ = nullptr;
    ledger_ = nullptr;
    std::filesystem::remove(state_.At("ledger"));
    Start(read_before);
  }
  bool ShowsSource() const {
    const std::shared_ptr<RecordEpoch> epoch = view_->records();
    return epoch->bytes(files_[0]) == kBytes &&
           epoch->read_before() != ReadBefore::kNothing;
  }
  absl::Status Install(ControlRequest request) {
    return view_->Install(*view_->Prepare(request));
  }

  // Reads a container to the end. Returns the epoch that showed it.
  Epoch Read(uint32_t number) {
    const EntryId file = files_[number];
    std::shared_ptr<RecordEpoch> epoch;
    do {
      epoch = view_->LookupContainer(file);
    } while (view_->OpenContainer(file, *epoch, 7) ==
             View::OpenVerdict::kStale);
    for (uint64_t at = 0; at < kBytes; at += 100000) {
      epoch->Read(file, at, 100000,
                  [](absl::StatusOr<absl::Span<const iovec>> got) {
                    EXPECT_TRUE(got.ok()) << got.status();
                  });
      test_.asked->ComeAll();
    }
    epoch->Close(file);
    return epoch->epoch();
  }

  TempTree tree_, state_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_;
  std::shared_ptr<const Catalogue> catalogue_;
  EntryId files_[2];
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<View> view_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_VIEW_RESTARTED_PASS_H_
