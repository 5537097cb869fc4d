// SPDX-License-Identifier: Apache-2.0
// Files beside containers are read ahead as in a view without containers. The
// bytes of the containers themselves never are.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/view/view.h"
#include "gtest/gtest.h"
#include "tests/core/pool/held_source.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ContainerConfig;
using testing_support::ContainerParts;
using testing_support::ContainerTools;
using testing_support::HeldSource;
using testing_support::TempTree;
using testing_support::TestPool;

constexpr uint64_t kFileBytes = 5000;
constexpr uint64_t kMemory = uint64_t{8} << 20;

std::function<bool(EntryId)> CoveredBy(const PlainFiles& files) {
  if (files.containers == nullptr) return nullptr;
  return [containers = files.containers](EntryId file) {
    return containers->Covers(file);
  };
}

// A view of the containers x*.bin and of other files. The test sees what was
// made for it, and lets come what is read ahead.
class PlainFilesTest : public ::testing::Test {
 protected:
  PlainFilesTest() : job_tracker_(proc_.root()) {}

  static ViewConfig Config(const std::string& policy) {
    ViewConfig config = ContainerConfig();
    config.policy = policy;
    config.record.as = "x*.bin:fixed";
    config.substitute = Substitute::kNever;
    return config;
  }

  void Start(const ViewConfig& config) {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    auto parts = ContainerParts(config, catalogue_, Tools(), job_tracker_);
    ASSERT_TRUE(parts.ok()) << parts.status();
    view_ = std::make_unique<View>(*std::move(parts));
  }

  void Switch(const ViewConfig& config) {
    ControlRequest change;
    change.config = config;
    change.config_changed = true;
    change.next_epoch = true;
    ASSERT_EQ(view_->Install(*view_->Prepare(change)), absl::OkStatus());
  }

  std::vector<EntryId> Files(const std::string& like) const {
    std::vector<EntryId> files;
    for (uint32_t e = 0; e < catalogue_->entry_count(); ++e) {
      if (catalogue_->kind(EntryId(e)) == EntryKind::kFile &&
          absl::StrContains(catalogue_->path(EntryId(e)), like)) {
        files.push_back(EntryId(e));
      }
    }
    return files;
  }

  // Reads it as the filesystem does. Returns whether that was from memory.
  bool Read(EntryId name) {
    const EntryId file = view_->Lookup(name).shown;
    const std::shared_ptr<ContentProvider> provider =
        view_->ProviderOf(file, /*live=*/true);
    if (provider == nullptr || !provider->CanServe(file)) return false;
    source_->ComeAll();
    bool there = false;
    provider->Read(file, 0, kFileBytes, [&there](auto bytes) {
      EXPECT_TRUE(bytes.ok()) << bytes.status();
      there = true;
    });
    EXPECT_TRUE(there);
    return true;
  }

  // A container is looked up and opened as such.
  void Open(EntryId name) {
    now_ += milliseconds(1);
    if (const auto records = view_->LookupContainer(name); records != nullptr) {
      EXPECT_EQ(view_->OpenContainer(name, *records, kReader, now_),
                View::OpenVerdict::kServe);
      return;
    }
    const EntryId file = view_->Lookup(name, kReader, now_).shown;
    EXPECT_EQ(view_->Open(file, kReader, now_), View::OpenVerdict::kServe);
  }

  TempTree proc_;
  TempTree tree_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_;
  std::shared_ptr<const Catalogue> catalogue_;
  HeldSource* source_ = nullptr;  // of what was made last
  int aheads_ = 0;                // that were made
  int prefetchers_ = 0;
  std::vector<WantedRecords> wanted_;  // pools that were made
  milliseconds now_{0};
  std::unique_ptr<View> view_;

 private:
  static constexpr int32_t kReader = 7;

  SetupTools Tools() {
    SetupTools tools = ContainerTools(tree_, test_.pool);
    tools.ahead = [this](std::shared_ptr<const Dataset> dataset,
                         const PlainFiles& files) {
      ++aheads_;
      ReadAhead::Parts parts;
      parts.dataset = std::move(dataset);
      parts.source = Source();
      parts.memory = testing_support::TestMemory(kMemory);
      parts.leaves_out = CoveredBy(files);
      return ReadAhead::Make(std::move(parts));
    };
    tools.prefetcher = [this](const PrefetchFacet&,
                              std::shared_ptr<const Dataset> dataset,
                              const PlainFiles& files, bool) {
      ++prefetchers_;
      SamplerPrefetcher::Parts parts;
      parts.dataset = std::move(dataset);
      parts.source = Source();
      parts.memory = testing_support::TestMemory(kMemory);
      parts.search_cores = 0;
      parts.job_tracker = &job_tracker_;
      parts.leaves_out = CoveredBy(files);
      return SamplerPrefetcher::Make(std::move(parts));
    };
    tools.records = [this, make = tools.records](
                        const auto& config, const auto& dataset,
                        const auto& policy, const WantedRecords& wanted) {
      wanted_.push_back(wanted);
      return make(config, dataset, policy, wanted);
    };
    return tools;
  }

  std::unique_ptr<SampleSource> Source() {
    auto source = std::make_unique<HeldSource>();
    source_ = source.get();
    return source;
  }
};

// Images in class folders beside containers that outnumber those of a folder.
class MixedFilesTest : public PlainFilesTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 300; ++i) {
      tree_.File(absl::StrCat("c", i % 3, "/", 1000 + i, ".jpg"),
                 std::string(kFileBytes, 'x'));
    }
    for (int i = 0; i < 40; ++i) {
      tree_.File(absl::StrCat("c1/x", i, ".bin"), std::string(4000, 'x'));
    }
  }
};

TEST_F(MixedFilesTest, PlainFilesAreReadAheadInTheOrderOfTheirNames) {
  Start(Config("lirs"));
  ASSERT_EQ(aheads_, 1);
  const std::vector<EntryId> images = Files(".jpg");
  int hits = 0;
  for (const EntryId image : images) {
    hits += Read(image) ? 1 : 0;
    for (const EntryId asked : source_->asked()) {
      EXPECT_FALSE(view_->setup()->ShowsRecordsOf(asked));
    }
  }
  EXPECT_EQ(hits, 296) << "four reads show the order";
  EXPECT_EQ(view_->setup()->provider()->status().hits, 296u);
}

TEST_F(MixedFilesTest, ContainersAreStillTheRecords) {
  Start(Config("lirs"));
  for (const EntryId file : Files(".bin")) {
    EXPECT_EQ(view_->ProviderOf(file, /*live=*/true), nullptr);
    EXPECT_EQ(view_->ProviderOf(file, /*live=*/false), nullptr);
    EXPECT_NE(view_->LookupContainer(file), nullptr);
  }
}

TEST_F(MixedFilesTest, TheMemoryOfTheRecordsIsDividedOnlyIfFilesAreReadAhead) {
  Start(Config("lirs"));
  ASSERT_EQ(wanted_.size(), 1u);
  EXPECT_EQ(wanted_[0].plain_bytes, 300 * kFileBytes);
  EXPECT_FALSE(wanted_[0].beside_supply);
  Switch(Config("native"));
  ASSERT_EQ(wanted_.size(), 2u);
  EXPECT_EQ(wanted_[1].plain_bytes, 0u);
}

TEST_F(MixedFilesTest, AnotherPolicyReusesTheMemoryOfBoth) {
  Start(Config("lirs"));
  const auto before = view_->setup();
  Switch(Config("window"));
  const auto after = view_->setup();
  ASSERT_EQ(after->policy->name(), "window");
  EXPECT_EQ(after->ahead, before->ahead);
  EXPECT_EQ(after->records.containers, before->records.containers);
  EXPECT_EQ(wanted_.size(), 1u);
}

// Files that were plain may be containers now.
TEST_F(MixedFilesTest, OtherRulesMakeOthersPlain) {
  Start(Config("lirs"));
  const auto before = view_->setup();
  ViewConfig config = Config("lirs");
  config.record.as = "x1*.bin:fixed";
  Switch(config);
  EXPECT_NE(view_->setup()->ahead, before->ahead);
  EXPECT_NE(view_->setup()->ahead, nullptr);
  const EntryId plain = *catalogue_->FindPath("c1/x2.bin");
  EXPECT_NE(view_->ProviderOf(plain, /*live=*/true), nullptr);
  const EntryId container = *catalogue_->FindPath("c1/x1.bin");
  EXPECT_EQ(view_->ProviderOf(container, /*live=*/true), nullptr);
}

// The same containers, so that they are not indexed again. But their memory is
// another one.
TEST_F(MixedFilesTest, ThePrefetcherOfASwitchTakesItsPartOfTheMemory) {
  Start(Config("native"));
  const auto before = view_->setup();
  EXPECT_EQ(prefetchers_ + aheads_, 0);
  Switch(Config("clairvoyant"));
  const auto after = view_->setup();
  EXPECT_EQ(prefetchers_, 1);
  EXPECT_EQ(after->records.containers, before->records.containers);
  ASSERT_EQ(wanted_.size(), 2u);
  EXPECT_EQ(wanted_[0].plain_bytes, 0u);
  EXPECT_EQ(wanted_[1].plain_bytes, 300 * kFileBytes);
}

TEST_F(PlainFilesTest, AViewOfContainersAloneReadsNoneAhead) {
  for (int i = 0; i < 40; ++i) {
    tree_.File(absl::StrCat("x", i, ".bin"), std::string(4000, 'x'));
  }
  Start(Config("lirs"));
  EXPECT_EQ(aheads_, 0);
  Switch(Config("clairvoyant"));
  EXPECT_EQ(prefetchers_, 0);
  for (const WantedRecords& wanted : wanted_) {
    EXPECT_EQ(wanted.plain_bytes, 0u);
  }
}

// Every second file of the job is a container.
TEST_F(PlainFilesTest, AJobThatReadsBothKindsIsFollowed) {
  constexpr uint32_t kFiles = 600;
  for (uint32_t i = 0; i < kFiles; ++i) {
    tree_.File(absl::StrCat(i % 2 == 0 ? "x" : "y", 1000 + i, ".bin"),
               std::string(kFileBytes, 'x'));
  }
  Start(Config("clairvoyant"));
  ASSERT_EQ(prefetchers_, 1);
  const std::vector<EntryId> files = Files(".bin");
  const std::vector<uint32_t> order = TorchRandperm(kFiles, 0);
  for (uint32_t i = 0; i < 200; ++i) Open(files[order[i]]);
  for (int i = 0; i < 60000 && source_->waiting() == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  const std::vector<EntryId> asked = source_->asked();
  EXPECT_FALSE(asked.empty());
  for (const EntryId file : asked) {
    EXPECT_FALSE(view_->setup()->ShowsRecordsOf(file));
  }
  view_->setup()->prefetcher->Stop();
  // What is asked for keeps the prefetcher's files alive, and these the source.
  while (source_->Come(absl::CancelledError("the test has ended"))) {
  }
}

}  // namespace
}  // namespace shufflefs
