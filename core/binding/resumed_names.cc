// SPDX-License-Identifier: Apache-2.0
#include "core/binding/resumed_names.h"

namespace shufflefs {
namespace {

// With fewer remaining names, chance alone may put them before the others.
constexpr uint64_t kFewLeft = 8;

}  // namespace

void ResumedNames::Begin(uint64_t names, absl::Span<const uint64_t> known,
                         uint64_t unknown, absl::Span<const uint64_t> due) {
  Clear();
  if (!due.empty()) due_bits_ = Bitmap(names);
  for (const uint64_t name : due) due_ += due_bits_.Set(name) ? 1 : 0;
  bits_ = Bitmap(names);
  for (const uint64_t name : known) known_ += bits_.Set(name) ? 1 : 0;
  unknown_ = unknown < names - known_ ? unknown : names - known_;
}

void ResumedNames::Clear() {
  bits_ = due_bits_ = Bitmap(0);
  known_ = unknown_ = due_ = left_ = again_ = 0;
}

void ResumedNames::TakeKnown(uint64_t name) {
  const bool due = IsDue(name);
  bits_.Clear(name);
  --known_;
  if (due) due_bits_.Clear(name);
  due_ -= due ? 1 : 0;
  ++(due ? left_ : again_);
}

// A job that reads all names in another order reaches the last of `left_` names
// when it has opened left_ / (left_ + 1) of the others.
bool ResumedNames::WereSkipped() const {
  if (unknown_ > 0 || due_ > 0) return false;
  return left_ < kFewLeft ? again_ == 0 : again_ < (known_ + again_) / 4 + 1;
}

}  // namespace shufflefs
