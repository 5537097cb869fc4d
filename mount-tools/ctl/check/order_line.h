// SPDX-License-Identifier: Apache-2.0
// Reads the control file `order` (fs/control/order_text.h describes it).
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_ORDER_LINE_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_ORDER_LINE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shufflefs {

// One file of the epoch: the file `sample` is shown as `name`. Paths are
// relative to the source and may have any bytes.
struct OrderLine {
  uint64_t rank = 0;
  std::string name;
  std::string sample;
};

// Calls `visit` for each line of `order`, until it returns an error. DataLoss
// names a line that is not rank TAB name TAB sample.
absl::Status ForEachOrderLine(
    absl::string_view order,
    const std::function<absl::Status(const OrderLine&)>& visit);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_CHECK_ORDER_LINE_H_
