// SPDX-License-Identifier: Apache-2.0
// How a mount learns of opens, and why in this way.
#ifndef SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_
#define SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "core/config/config.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct OpensSeen {
  enum class By {
    kNothing,   // opens are not seen
    kRequests,  // each open waits for the daemon's answer
    kReports,   // the kernel opens files by itself and reports it
  };
  By by = By::kNothing;
  std::string why;  // one clause
};
// Returns "nothing", "requests" or "reports".
std::string OpensSeenName(OpensSeen::By by);

// Returns whether opens end the epochs of a view or bind its names.
bool WantsOpens(const ViewSetup& setup);

// `no_reports` says why the kernel cannot report opens; "" if it can.
// `backing`: files are large, and the kernel reads them by itself if opens are
// answered.
OpensSeen HowOpensAreSeen(
    OpenMode mode, absl::Span<const std::shared_ptr<const ViewSetup>> setups,
    const std::string& no_reports, bool backing);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_OPENS_SEEN_H_
