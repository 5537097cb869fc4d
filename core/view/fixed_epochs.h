// SPDX-License-Identifier: Apache-2.0
// FixedEpochs makes the epochs of a view that are asked for by number: what
// `epoch/<n>/` shows, with nothing retained. It remembers the last ones,
// because each holds its orders.
#ifndef SHUFFLEFS_CORE_VIEW_FIXED_EPOCHS_H_
#define SHUFFLEFS_CORE_VIEW_FIXED_EPOCHS_H_

#include <functional>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// Thread-safe.
class FixedEpochs {
 public:
  // Per kind. Older epochs are made again when asked for.
  static constexpr size_t kMostRemembered = 16;

  FixedEpochs() = default;
  FixedEpochs(const FixedEpochs&) = delete;
  FixedEpochs& operator=(const FixedEpochs&) = delete;

  // The names of `epoch` as `setup` plans them.
  std::shared_ptr<const Binding> BindingOf(const ViewSetup& setup, Epoch epoch);
  // The records of containers. Null if `setup` shuffles none.
  std::shared_ptr<RecordEpoch> RecordsOf(const ViewSetup& setup, Epoch epoch);

 private:
  Mutex mu_;
  // Most recently used first.
  std::list<std::shared_ptr<const Binding>> bindings_ ABSL_GUARDED_BY(mu_);
  std::list<std::shared_ptr<RecordEpoch>> records_ ABSL_GUARDED_BY(mu_);
};

// The records of an epoch of `setup`. Null if `setup` shuffles none. The last
// two are as in RecordEpoch::Parts.
std::shared_ptr<RecordEpoch> MakeRecordEpoch(
    const ViewSetup& setup, Epoch epoch, bool live, RecordNotes notes = {},
    ReadBefore read_before = ReadBefore::kNothing);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_FIXED_EPOCHS_H_
