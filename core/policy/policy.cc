// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy.h"

#include "core/policy/binder.h"

namespace shufflefs {

std::unique_ptr<Binder> Policy::MakeBinder(const BinderInput&) const {
  return nullptr;
}

RecordRepeats Policy::record_repeats(Epoch epoch) const {
  return stages() ? staging()->record_repeats(epoch) : RecordRepeats();
}

}  // namespace shufflefs
