// SPDX-License-Identifier: Apache-2.0
// What a view shows from one binding of its names to the next. It never
// changes, so who takes it for a request gets all of it from one moment, and
// needs no lock of the view.
#ifndef SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
#define SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_

#include <memory>

#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/epoch/epoch_lookups.h"
#include "core/pool/sample_memory.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct LiveEpoch {
  std::shared_ptr<const ViewSetup> setup;
  std::shared_ptr<const Binding> binding;
  // Of containers; null where none are shuffled.
  std::shared_ptr<RecordEpoch> records;
  // What is told of it by lookups. Wanted where opens are watched.
  std::shared_ptr<EpochLookups> lookups;

  // What answers reads of `file`; null: the source. `live`: it was found by a
  // name of the live epoch, not by one of a fixed epoch.
  SampleMemory* ProviderOf(EntryId file, bool live) const;
  // Whether an open of `file` tells something of the epoch.
  bool WatchesOpensOf(EntryId file) const;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_LIVE_EPOCH_H_
