// SPDX-License-Identifier: Apache-2.0
// Epochs of a view that are known beforehand, and who is told of their orders.
#include <utility>

#include "core/pool/read_ahead.h"
#include "core/view/view.h"

namespace shufflefs {
namespace {

// Bindings of fixed epochs that are remembered; they hold their plan's tables.
constexpr size_t kFixedBindings = 16;

}  // namespace

std::shared_ptr<const Binding> View::FixedBinding(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = RememberedBinding(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, false);
  return binding;
}

std::shared_ptr<const Binding> View::FixedRanks(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = RememberedBinding(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, true);
  return binding;
}

std::shared_ptr<const Binding> View::RememberedBinding(const ViewSetup& setup,
                                                       Epoch epoch) const {
  const Seed seed = setup.config.seed;
  MutexLock lock(fixed_mu_);
  for (auto it = fixed_.begin(); it != fixed_.end(); ++it) {
    const Plan& plan = (*it)->plan();
    if (plan.epoch() == epoch && plan.seed() == seed &&
        &plan.policy() == setup.policy.get() &&
        &plan.dataset() == setup.dataset.get()) {
      fixed_.splice(fixed_.begin(), fixed_, it);
      return fixed_.front();
    }
  }
  fixed_.push_front(std::make_shared<const Binding>(
      std::make_shared<const Plan>(setup.dataset, setup.policy, seed, epoch),
      CarriedNames(), false));
  if (fixed_.size() > kFixedBindings) fixed_.pop_back();
  return fixed_.front();
}

void View::FollowLive() {
  ReadAhead::Sequences orders;
  if (setup_->config.layout == Layout::kRanked) {
    orders.push_back(RankSequence(binding_));
  } else {
    orders.push_back(NameSequence(binding_));
    orders.push_back(ListingSequence(binding_));
  }
  setup_->ahead->FollowLive(std::move(orders));
}

}  // namespace shufflefs
