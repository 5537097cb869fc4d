// SPDX-License-Identifier: Apache-2.0
#include "core/view/fixed_epochs.h"

#include <algorithm>
#include <utility>

namespace shufflefs {
namespace {

// If a remembered epoch satisfies `is`, moves it to the front and returns true.
template <typename Epochs, typename Is>
bool ToFront(Epochs& remembered, Is is) {
  const auto found = std::find_if(remembered.begin(), remembered.end(),
                                  [&](const auto& each) { return is(*each); });
  if (found == remembered.end()) return false;
  remembered.splice(remembered.begin(), remembered, found);
  return true;
}

}  // namespace

std::shared_ptr<const Binding> FixedEpochs::BindingOf(const ViewSetup& setup,
                                                      Epoch epoch) {
  const Seed seed = setup.config.seed;
  MutexLock lock(mu_);
  const bool known = ToFront(bindings_, [&](const Binding& binding) {
    const Plan& plan = binding.plan();
    return plan.epoch() == epoch && plan.seed() == seed &&
           &plan.policy() == setup.policy.get() &&
           &plan.dataset() == setup.dataset.get();
  });
  if (known) return bindings_.front();
  bindings_.push_front(std::make_shared<const Binding>(
      std::make_shared<const Plan>(setup.dataset, setup.policy, seed, epoch),
      RetainedBindings(), false));
  if (bindings_.size() > kMostRemembered) bindings_.pop_back();
  return bindings_.front();
}

std::shared_ptr<RecordEpoch> FixedEpochs::RecordsOf(const ViewSetup& setup,
                                                    Epoch epoch) {
  if (setup.records.producer == nullptr) return nullptr;
  MutexLock lock(mu_);
  const bool known = ToFront(records_, [&](const RecordEpoch& records) {
    return records.epoch() == epoch && records.seed() == setup.config.seed &&
           &records.policy() == setup.policy.get();
  });
  if (known) return records_.front();
  records_.push_front(MakeRecordEpoch(setup, epoch, /*live=*/false));
  if (records_.size() > kMostRemembered) {
    records_.back()->ReleaseOrders();
    records_.pop_back();
  }
  return records_.front();
}

std::shared_ptr<RecordEpoch> MakeRecordEpoch(const ViewSetup& setup,
                                             Epoch epoch, bool live,
                                             RecordNotes notes,
                                             ReadBefore read_before) {
  if (setup.records.producer == nullptr) return nullptr;
  RecordEpoch::Parts parts;
  parts.containers = setup.records.containers;
  parts.producer = setup.records.producer;
  parts.staging = setup.records.staging;
  parts.policy = setup.policy;
  parts.seed = setup.config.seed;
  parts.epoch = epoch;
  parts.live = live;
  parts.notes = std::move(notes);
  parts.read_before = read_before;
  return std::make_shared<RecordEpoch>(std::move(parts));
}

}  // namespace shufflefs
