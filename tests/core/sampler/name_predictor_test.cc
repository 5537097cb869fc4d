// SPDX-License-Identifier: Apache-2.0
// NamePredictor asks ahead for the names that a job looks up next.
#include "core/sampler/name_predictor.h"

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/testing/torch_loaders.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::TempTree;

constexpr uint32_t kNames = 900;
constexpr uint64_t kMost = 16;

class NamePredictorTest : public testing::Test {
 protected:
  NamePredictorTest() : job_tracker_(proc_.root()) {
    for (uint32_t i = 0; i < kNames; ++i) {
      tree_.File(absl::StrCat("c", i % 3, "/", 100000 + i, ".jpg"), "x");
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    dataset_ = *Dataset::Make(catalogue_, ViewConfig(), "");
    const std::vector<EntryId> first = {*catalogue_->FindPath("c0/100000.jpg")};
    const FileIndex index =
        FileIndex::Of(catalogue_, *catalogue_->FindDir(""), first);
    for (uint32_t i = 0; i < index.size(); ++i) {
      listed_.push_back(index.file(i));
    }
    NamePredictor::Parts parts;
    parts.dataset = dataset_;
    parts.job_tracker = &job_tracker_;
    parts.most = kMost;
    parts.ask = [this](const std::vector<SampleId>& names) {
      MutexLock lock(mu_);
      ++questions_;
      for (const SampleId name : names) asked_.push_back(name.value());
    };
    predictor_ = std::make_unique<NamePredictor>(std::move(parts));
  }

  // Looks the names up in this order. Returns how many of them were asked for
  // before. Checks that never more than kMost are ahead of the job.
  uint64_t LookUp(const std::vector<EntryId>& order) {
    uint64_t foreseen = 0;
    std::set<uint64_t> seen;
    for (const EntryId name : order) {
      const uint64_t sample = dataset_->grouping().sample(name).value();
      seen.insert(sample);
      {
        MutexLock lock(mu_);
        foreseen += std::count(asked_.begin(), asked_.end(), sample) > 0;
        uint64_t ahead = 0;
        for (const uint64_t each : asked_) ahead += seen.contains(each) ? 0 : 1;
        EXPECT_LE(ahead, kMost);
      }
      predictor_->OnLookup(name, 7, milliseconds(1000));
      std::this_thread::sleep_for(milliseconds(1));
    }
    return foreseen;
  }

  TempTree proc_;
  TempTree tree_;
  JobTracker job_tracker_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const Dataset> dataset_;
  std::vector<EntryId> listed_;
  Mutex mu_;
  std::vector<uint64_t> asked_ ABSL_GUARDED_BY(mu_);
  uint64_t questions_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<NamePredictor> predictor_;  // last: it uses the rest
};

TEST_F(NamePredictorTest, AsksForWhatComesNextInListingOrder) {
  EXPECT_GT(LookUp(listed_), kNames / 2);
  MutexLock lock(mu_);
  // Each question is about several.
  EXPECT_GT(asked_.size(), 4 * questions_);
  const std::set<uint64_t> once(asked_.begin(), asked_.end());
  EXPECT_EQ(once.size(), asked_.size());
}

// To test all orders for a job takes a while. What others look up meanwhile is
// noted, and foreseen.
TEST_F(NamePredictorTest, AJobOfAnUnknownOrderDelaysNoOther) {
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < kNames; ++i) {
      const uint32_t at = (i * 541 + i / 7 * 13 + round * 17) % kNames;
      predictor_->OnLookup(listed_[at], 9, milliseconds(1000));
    }
  }
  EXPECT_GT(LookUp(listed_), kNames / 2);
}

// Nothing is foreseen of an order that nobody knows.
TEST_F(NamePredictorTest, AsksForNothingInAnUnknownOrder) {
  std::vector<EntryId> order;
  for (uint32_t i = 0; i < kNames; ++i) {
    order.push_back(listed_[(i * 541 + i / 7 * 13) % kNames]);
  }
  LookUp(order);
  MutexLock lock(mu_);
  EXPECT_LT(asked_.size(), 3 * kMost);
}

}  // namespace
}  // namespace shufflefs
