// SPDX-License-Identifier: Apache-2.0
// The shuffle quality of a view's live epoch in one line, for `status`.
#ifndef SHUFFLEFS_CORE_QUALITY_QUALITY_LINE_H_
#define SHUFFLEFS_CORE_QUALITY_QUALITY_LINE_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/binding/binding.h"

namespace shufflefs {

// Grade and reason of the plan's order over the view's samples, with their
// groups as labels, such as "A: …". Empty if the order is the source's. Takes
// about 10 ms; see QualityCache.
std::string QualityLine(const Binding& binding);

// QualityCache remembers the line of the last binding. Thread-safe.
class QualityCache {
 public:
  std::string Line(const std::shared_ptr<const Binding>& binding);

 private:
  Mutex mu_;
  std::shared_ptr<const Binding> binding_ ABSL_GUARDED_BY(mu_);
  std::string line_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_QUALITY_QUALITY_LINE_H_
