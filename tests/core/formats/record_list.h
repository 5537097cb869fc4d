// SPDX-License-Identifier: Apache-2.0
// What a record scanner finds, for tests.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_RECORD_LIST_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_RECORD_LIST_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"
#include "core/formats/record_scanner.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

// Holds the sizes, and the scanner to the order of its calls.
class RecordList : public RecordSink {
 public:
  void Begin(uint64_t offset) override {
    EXPECT_FALSE(begun);
    EXPECT_TRUE(sizes.empty());
    begun = true;
    first = offset;
  }
  void Add(uint64_t bytes) override {
    EXPECT_TRUE(begun);
    EXPECT_GT(bytes, 0u);
    sizes.push_back(bytes);
  }

  bool begun = false;
  uint64_t first = 0;
  std::vector<uint64_t> sizes;
};

// Feeds the file in pieces of the sizes that `next` gives (> 0), then ends it.
inline absl::Status ScanInPieces(RecordScanner& scanner, absl::string_view file,
                                 const std::function<uint64_t()>& next,
                                 RecordSink& sink) {
  while (!file.empty()) {
    const uint64_t bytes = std::min<uint64_t>(next(), file.size());
    RETURN_IF_ERROR(scanner.Feed(file.substr(0, bytes), sink));
    file.remove_prefix(bytes);
  }
  return scanner.Finish(sink);
}

inline absl::Status ScanWhole(RecordScanner& scanner, absl::string_view file,
                              RecordSink& sink) {
  return ScanInPieces(
      scanner, file, [&] { return file.size(); }, sink);
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_RECORD_LIST_H_
