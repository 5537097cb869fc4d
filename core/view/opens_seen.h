// SPDX-License-Identifier: Apache-2.0
// How a mount learns of opens, and why in this way.
#ifndef SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_
#define SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/config/config.h"
#include "core/epoch/open_tracker.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// The kernel reports opens without being asked to (`open = auto`) only if each
// pass of a view has so many samples. In shorter passes reports more often come
// too late to end an epoch, and a request for each open costs little in all.
inline constexpr uint64_t kLeastReported = 8192;
// And only in so many directories: each costs 50 microseconds, and its inode
// stays in the kernel's memory.
inline constexpr uint32_t kMostWatched = 1 << 16;

struct OpensSeen {
  enum class By {
    kNothing,   // opens are not seen
    kRequests,  // each open waits for the daemon's answer
    kReports,   // the kernel opens files by itself and reports it
  };
  By by = By::kNothing;
  std::string why;  // one clause
  // Names may move by what is seen. Otherwise the opens only tell which files
  // to prefetch.
  bool counts = true;
};
// Returns "nothing", "requests" or "reports".
std::string OpensSeenName(OpensSeen::By by);

// Returns whether opens end the epochs of a view or bind its names.
bool WantsOpens(const ViewSetup& setup);

// Returns whether an open may begin an epoch. `records`: some are shuffled.
bool EndsByOpens(const ViewSetup& setup, bool records);

// How the epochs of a view are found that runs `setup`. `grouped`: another
// object finds them.
OpenTracker::Options TrackerOptions(const ViewSetup& setup, bool grouped);

// Returns an error that says what to do if a view cannot run `setup`. `sees`:
// opens may end epochs. `reports`: the kernel reports them after the fact.
absl::Status CheckOpens(const ViewSetup& setup, bool sees, bool reports);

// What the kernel can do, and what it cannot: each says why, in one clause; ""
// if it can.
struct OpensPossible {
  std::string no_reports{};    // of opens
  std::string no_rebinding{};  // names cannot move while opens are reported
  // Files are large, and the kernel reads them by itself if opens are answered.
  bool backing = false;
};
OpensSeen HowOpensAreSeen(
    OpenMode mode, absl::Span<const std::shared_ptr<const ViewSetup>> setups,
    const OpensPossible& possible);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_
