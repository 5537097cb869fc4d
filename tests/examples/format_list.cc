// SPDX-License-Identifier: Apache-2.0
// The formats of a program with the examples: see
// core/formats/table/format_list.cc.
#include "core/formats/table/formats.h"
#include "tests/examples/framed_format.h"

namespace shufflefs {

std::vector<const RecordFormat*> RecordFormats() {
  std::vector<const RecordFormat*> formats = OwnFormats();
  formats.push_back(&FramedFormat());
  return formats;
}

}  // namespace shufflefs
