// SPDX-License-Identifier: Apache-2.0
// The formats that this program knows. A separate file, so that a program may
// link another list instead: tests/examples does.
#include "core/formats/table/formats.h"

namespace shufflefs {

std::vector<const RecordFormat*> RecordFormats() { return OwnFormats(); }

}  // namespace shufflefs
