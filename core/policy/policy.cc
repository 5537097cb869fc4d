// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy.h"

#include "core/policy/binder.h"

namespace shufflefs {

std::unique_ptr<Binder> Policy::MakeRankBinder(const BinderInput&) const {
  return nullptr;
}

std::unique_ptr<Binder> Policy::MakeBinder(const BinderInput&) const {
  return nullptr;
}

}  // namespace shufflefs
