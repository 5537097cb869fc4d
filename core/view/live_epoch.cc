// SPDX-License-Identifier: Apache-2.0
#include "core/view/live_epoch.h"

#include "core/sampler/foresight.h"

namespace shufflefs {

SampleMemory* LiveEpoch::ProviderOf(EntryId file, bool live) const {
  if (live && setup->foresight != nullptr) return setup->foresight.get();
  const bool supplied = (live && binding->bound_names() != nullptr) ||
                        (live && setup->policy->keeps_first()) ||
                        setup->stages_ranks();
  SampleMemory* provider = setup->ahead.get();
  if (supplied) provider = setup->supply.get();
  if (provider == nullptr || !setup->dataset->grouping().place(file)) {
    return nullptr;
  }
  return provider;
}

bool LiveEpoch::WatchesOpensOf(EntryId file) const {
  return lookups->wanted() && setup->dataset->grouping().place(file);
}

}  // namespace shufflefs
