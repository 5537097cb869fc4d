// SPDX-License-Identifier: Apache-2.0
// BoundNames is how a Binding sees names that are bound to samples on demand.
// The producer of a reactive view implements it.
#ifndef SHUFFLEFS_CORE_BINDING_BOUND_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_BOUND_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "core/base/types.h"

namespace shufflefs {

// Thread-safe. Nothing blocks, except that Bind may wait for another node
// (core/binding/nodes/shared_names.h). All answers are for its current epoch.
class BoundNames {
 public:
  virtual ~BoundNames() = default;

  // The sample that `name` shows. The first call binds it.
  virtual SampleId Bind(SampleId name) = 0;
  // The sample that a name shows, or the name that shows a sample, if bound.
  virtual absl::optional<SampleId> Bound(SampleId name) const = 0;
  virtual absl::optional<SampleId> NameOf(SampleId sample) const = 0;

  // Returns whether an epoch may show a sample under several names, or under
  // none (mini-epochs). The rest is only for these; see MiniEpochs.
  virtual bool repeats() const = 0;
  virtual uint32_t OrdinalOf(SampleId name) const = 0;
  virtual absl::optional<SampleId> NameAt(SampleId sample,
                                          uint32_t ordinal) const = 0;
  virtual void Opened(SampleId name) = 0;
  virtual std::string Served() const = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_BOUND_NAMES_H_
