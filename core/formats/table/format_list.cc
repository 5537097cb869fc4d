// SPDX-License-Identifier: Apache-2.0
// Which formats this program knows. In a file of its own, in the place of which
// a program may link another one: tests/examples does.
#include "core/formats/table/formats.h"

namespace shufflefs {

std::vector<const RecordFormat*> RecordFormats() { return OwnFormats(); }

}  // namespace shufflefs
