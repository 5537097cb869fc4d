// SPDX-License-Identifier: Apache-2.0
// Job reads a view of met, without files.
#ifndef SHUFFLEFS_TESTS_POLICIES_MET_FIXTURE_H_
#define SHUFFLEFS_TESTS_POLICIES_MET_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/random/random.h"
#include "gtest/gtest.h"
#include "policies/met/met_binder.h"
#include "tests/policies/binder_fixture.h"

namespace shufflefs::testing_support {

inline MetOptions Fixed(uint64_t mini_epochs, uint64_t repeat,
                        uint64_t epochs) {
  MetOptions options;
  options.mini_epochs = mini_epochs;
  options.repeat = repeat;
  options.epochs = epochs;
  return options;
}

// Reads all names of an epoch in a random order. Looks up and opens each of
// them. Between the reads samples are fetched ahead, come and leave at random,
// as in a pool.
class Job {
 public:
  Job(const MetOptions& options, const std::vector<uint32_t>& sizes,
      uint64_t seed)
      : data_(MakeBinderData(sizes, 1000, 64, true)),
        binder_(options, data_->input),
        rng_(RandomKey(seed)),
        pool_rng_(RandomKey(~seed)),
        shown_(data_->grouping.sample_count()) {}

  MetBinder& binder() { return binder_; }
  BinderData& data() { return *data_; }
  Rng& rng() { return rng_; }
  uint64_t size() const { return shown_.size(); }
  const std::vector<uint32_t>& shown() const { return shown_; }
  const std::vector<uint32_t>& order() const { return order_; }

  std::vector<uint32_t> Names() {
    std::vector<uint32_t> names(size());
    std::iota(names.begin(), names.end(), 0);
    for (uint64_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[rng_.Bounded(i)]);
    }
    return names;
  }

  // Reads `read` of the names. All wanted sets are staged at once.
  void Epoch(uint64_t epoch, uint64_t read) {
    binder_.BeginEpoch(Seed(1), shufflefs::Epoch(epoch), {});
    order_.clear();
    const std::vector<uint32_t> names = Names();
    for (uint64_t i = 0; i < read; ++i) Read(names[i]);
  }
  void Epoch(uint64_t epoch) { Epoch(epoch, size()); }

  void Read(uint32_t name) {
    for (const uint64_t set : binder_.WantedSets()) binder_.SetReady(set);
    const SampleId sample = binder_.Bind(SampleId(name));
    ASSERT_EQ(data_->grouping.group_of(sample),
              data_->grouping.group_of(SampleId(name)));
    ASSERT_EQ(binder_.Bind(SampleId(name)), sample) << "a name that moved";
    binder_.Opened(SampleId(name));
    ++shown_[sample.value()];
    order_.push_back(static_cast<uint32_t>(sample.value()));
    Fetch();
    Leave(sample);
  }

  // What a pool may do meanwhile.
  void Fetch() {
    if (pool_rng_.Bounded(3) == 0) return;
    const uint64_t room =
        pool_rng_.Bounded(8) == 0 ? 0 : data_->input.memory_bytes;
    for (const SampleId sample : binder_.NextFetch(room)) {
      ASSERT_TRUE(binder_.fetched_ahead(sample)) << sample.value();
      ASSERT_TRUE(held_.insert(sample.value()).second) << "fetched twice";
      coming_.push_back(sample);
    }
    for (uint64_t i = pool_rng_.Bounded(4); i > 0 && !coming_.empty(); --i) {
      std::swap(coming_[pool_rng_.Bounded(coming_.size())], coming_.back());
      if (held_.contains(coming_.back().value())) {
        if (pool_rng_.Bounded(20) == 0) {
          held_.erase(coming_.back().value());
          binder_.Left(coming_.back());  // its read failed
        } else {
          binder_.Arrived(coming_.back());
        }
      }
      coming_.pop_back();
    }
  }
  // Its reader is done with it.
  void Leave(SampleId sample) {
    if (binder_.fetched_ahead(sample) || held_.erase(sample.value()) == 0) {
      return;
    }
    binder_.Left(sample);
  }

  uint32_t Least() const {
    return *std::min_element(shown_.begin(), shown_.end());
  }
  uint32_t Most() const {
    return *std::max_element(shown_.begin(), shown_.end());
  }

 private:
  std::unique_ptr<BinderData> data_;
  MetBinder binder_;
  Rng rng_;
  Rng pool_rng_;
  std::set<uint64_t> held_;  // in memory or on their way
  std::vector<SampleId> coming_;
  std::vector<uint32_t> shown_;
  std::vector<uint32_t> order_;  // of the epoch
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_POLICIES_MET_FIXTURE_H_
