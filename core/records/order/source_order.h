// SPDX-License-Identifier: Apache-2.0
// The order of a container whose records stay in file order, for a file that is
// not shown as it is: its padding is left out.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_SOURCE_ORDER_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_SOURCE_ORDER_H_

#include <memory>

#include "core/formats/record_table.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

// The table is not empty, and outlives the order.
std::unique_ptr<const RecordOrder> MakeSourceOrder(const RecordTable& table);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_SOURCE_ORDER_H_
