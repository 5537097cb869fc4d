// SPDX-License-Identifier: Apache-2.0
// Epochs of a view that are known beforehand, and who is told of their orders.
#include <utility>

#include "core/pool/read_ahead.h"
#include "core/view/view.h"

namespace shufflefs {

std::shared_ptr<const Binding> View::FixedBinding(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = fixed_.BindingOf(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, false);
  return binding;
}

std::shared_ptr<const Binding> View::FixedRanks(Epoch epoch) const {
  const std::shared_ptr<const ViewSetup> setup = this->setup();
  std::shared_ptr<const Binding> binding = fixed_.BindingOf(*setup, epoch);
  if (setup->ahead != nullptr) setup->ahead->FollowFixed(binding, true);
  return binding;
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
