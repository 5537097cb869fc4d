// SPDX-License-Identifier: Apache-2.0
// Binding is the bijection of one epoch: which sample each name shows. Names
// that a client had opened before the boundary was certain are retained: they
// keep their sample, and the others are permuted around them.
//
// Under a reactive policy a name shows what it was bound to when it was asked
// for. Until then it shows itself.
#ifndef SHUFFLEFS_CORE_BINDING_BINDING_H_
#define SHUFFLEFS_CORE_BINDING_BINDING_H_

#include <memory>

#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/bound_names.h"
#include "core/policy/plan.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// Immutable except for names that are bound on demand. Any thread may call. No
// method blocks, except at the first use of an order of the plan.
class Binding {
 public:
  // `identity`: every name shows its own sample, whatever the plan says. This
  // is so if the dataset does not move, if substitution is suspended, or if the
  // policy waits for the next boundary. Exceptions are the retained names and
  // those whose sample a retained name shows.
  Binding(std::shared_ptr<const Plan> plan, RetainedBindings retained,
          bool identity);
  // For a reactive policy. What names show is what `names` binds in its current
  // epoch, and what is retained.
  Binding(std::shared_ptr<const Plan> plan, RetainedBindings retained,
          std::shared_ptr<BoundNames> names);

  // Returns whether an epoch may show a sample under several names, or under
  // none.
  bool repeats() const;

  // The file whose content, size and inode `name` shows. Files that keep their
  // own content, links and directories show themselves.
  EntryId Shown(EntryId name) const;
  // The inverse: the name under which `file` is shown.
  EntryId NameOf(EntryId file) const;
  // The same bijection on sample ids: a name is numbered by its own sample.
  SampleId ShownSample(SampleId name) const;
  SampleId NameOfSample(SampleId sample) const;
  // The index, from 0, of `name` among the names that show the same sample. And
  // the reverse; empty if there is no such name yet.
  uint32_t OrdinalOf(SampleId name) const;
  absl::optional<SampleId> NameAt(SampleId sample, uint32_t ordinal) const;

  bool identity() const { return identity_; }
  // Null unless names are bound on demand.
  const std::shared_ptr<BoundNames>& bound_names() const { return names_; }
  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  const RetainedBindings& retained() const { return retained_; }
  Epoch epoch() const { return plan_->epoch(); }

 private:
  const std::shared_ptr<const Plan> plan_;
  const RetainedBindings retained_;
  const bool identity_;
  const std::shared_ptr<BoundNames> names_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_BINDING_H_
