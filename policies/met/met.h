// SPDX-License-Identifier: Apache-2.0
// MetPolicy is the policy `met`. It divides the dataset into mini-epochs, parts
// that fit into a faster tier. Each mini-epoch is shown several times while the
// next one is copied, so the slow source is read less often.
//
// After the MET paper. Guarantees: over met.epochs epochs every sample is shown
//   as often as every other, one more or less. Nothing is repeated unless the
//   number of epochs is known, so that no job sees only a part of its data.
//   Each pass has its own mini-epochs, and each repetition its own order.
//   Which sample a name shows depends on the order in which readers ask for
//   names, so an epoch is not reproducible; the ledger is its record.
// Read pattern: mini-epochs from the source, once per pass, ahead of readers.
// If the order must be known in advance: ranked names come mini-epoch by
//   mini-epoch (policies/met/met_plan.h), also from the tier. So do the
//   records of containers (core/records/order/repeat_order.h): an epoch shows
//   as many records as there are, some several times and others not at all.
//   Names in an epoch by path show an independent permutation per epoch, as
//   lirs by instance.
#ifndef SHUFFLEFS_POLICIES_MET_MET_H_
#define SHUFFLEFS_POLICIES_MET_MET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/policy/policy_entry.h"
#include "policies/met/met_options.h"

namespace shufflefs {

extern const PolicyEntry kMetEntry;

class MetPolicy : public Policy, private StagingFacet {
 public:
  explicit MetPolicy(MetOptions options) : options_(std::move(options)) {}

  absl::string_view name() const override { return "met"; }
  Consumption consumption() const override { return Consumption::kReactive; }
  std::unique_ptr<const Order> MakeOrder(const Stratum& stratum, Seed seed,
                                         Epoch epoch) const override;
  std::unique_ptr<Binder> MakeBinder(const BinderInput& input) const override;
  bool shuffles_records() const override { return true; }
  RecordBlocks record_blocks() const override { return options_.blocks; }
  absl::string_view instead_on_nodes() const override { return "lirs"; }
  const StagingFacet* staging() const override { return this; }

 private:
  std::unique_ptr<Binder> MakeRankBinder(
      const BinderInput& input) const override;
  RecordRepeats record_repeats(Epoch epoch) const override;
  absl::StatusOr<uint64_t> SetsFor(const BinderInput& input) const override;
  std::vector<Note> Notes(bool of_records) const override;
  std::string learns_as() const override { return options_.model; }
  absl::string_view repeats_by() const override { return "met.repeat"; }

  const MetOptions options_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MET_H_
