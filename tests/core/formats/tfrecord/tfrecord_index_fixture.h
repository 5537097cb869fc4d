// SPDX-License-Identifier: Apache-2.0
// The lines of an index of TFRecords, for tests.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/formats/tfrecord/tfrecord_index.h"

namespace shufflefs::testing_support {

// Nothing if a line is malformed.
inline absl::optional<std::vector<TfrecordSpan>> SpansOf(
    absl::string_view text) {
  std::vector<TfrecordSpan> spans;
  while (!text.empty()) {
    if (!TakeTfrecordIndexLine(text, &spans.emplace_back())) {
      return absl::nullopt;
    }
  }
  return spans;
}

inline std::string TextOf(const std::vector<TfrecordSpan>& spans,
                          const TfrecordIndexWidths& widths = {}) {
  std::string text;
  for (const TfrecordSpan& span : spans) {
    AppendTfrecordIndexLine(span, widths, &text);
  }
  return text;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_INDEX_FIXTURE_H_
