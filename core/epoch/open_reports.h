// SPDX-License-Identifier: Apache-2.0
// OpenReports gives opens that the kernel has answered by itself and reports
// afterwards. No reader waits for a report, so a view learns of an open late:
// as a rule by less than a millisecond. What a view may conclude from such
// opens, core/view/README.md says.
#ifndef SHUFFLEFS_CORE_EPOCH_OPEN_REPORTS_H_
#define SHUFFLEFS_CORE_EPOCH_OPEN_REPORTS_H_

#include <cstdint>
#include <vector>

#include "core/base/types.h"

namespace shufflefs {

struct ReportedOpen {
  EntryId file;
  uint32_t ordinal = 0;  // of the opened name among those that show the file
  uint32_t reader = 0;   // thread id, 0 = hidden
};

// Thread-safe. No call blocks. Views call it with their lock held.
class OpenReports {
 public:
  struct Taken {
    std::vector<ReportedOpen> opens;  // in their order
    bool lost = false;                // others before these were lost
  };
  virtual ~OpenReports() = default;

  // Takes what was not taken yet of the opens in view number `view`. Has every
  // open that returned to its reader before the call.
  virtual Taken Take(uint32_t view) = 0;

  // Has the kernel hand over what it has reported so far. While a report waits
  // there, a second open of the file by the same thread is merged into it.
  // Views call it without a lock, too.
  virtual void Collect() = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_OPEN_REPORTS_H_
