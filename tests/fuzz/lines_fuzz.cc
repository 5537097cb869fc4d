// SPDX-License-Identifier: Apache-2.0
// A text with any bytes at all: the pieces it comes in change nothing, its
// records tile it, and in another order they are records again. The first byte
// says how the text is read.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/formats/lines_scanner.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

struct Found : public RecordSink {
  void Begin(uint64_t offset) override { begin = offset; }
  void Add(uint64_t bytes) override {
    Require(bytes > 0);
    sizes.push_back(bytes);
  }
  uint64_t begin = 0;
  std::vector<uint64_t> sizes;
  bool last_is_open = false;
};

absl::Status Scan(absl::string_view text, const LinesOptions& options,
                  size_t piece, Found& found) {
  const auto scanner = MakeLinesScanner(options);
  while (!text.empty()) {
    const absl::Status status = scanner->Feed(text.substr(0, piece), found);
    if (!status.ok()) return status;
    text.remove_prefix(std::min(piece, text.size()));
  }
  const absl::Status status = scanner->Finish(found);
  found.last_is_open = status.ok() && scanner->last_is_open();
  return status;
}

void Run(const std::string& text, const LinesOptions& options) {
  Found found;
  const absl::Status status = Scan(text, options, text.size() + 1, found);
  for (const size_t piece : {1, 7}) {
    Found other;
    Require(Scan(text, options, piece, other) == status);
    Require(!status.ok() || other.sizes == found.sizes);
  }
  if (!status.ok() || found.sizes.empty()) return;
  std::string backwards;
  uint64_t at = found.begin;
  for (const uint64_t size : found.sizes) {
    Require(size <= text.size() - at);
    backwards.insert(0, text, at, size);
    at += size;
  }
  Require(at == text.size());
  Require(found.last_is_open == (text.back() != '\n'));
  if (found.last_is_open) return;
  backwards.insert(0, text, 0, found.begin);
  Found again;
  Require(Scan(backwards, options, backwards.size(), again).ok());
  Require(again.sizes.size() == found.sizes.size());
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  shufflefs::LinesOptions options;
  options.csv = (data[0] & 1) != 0;
  options.csv_quoted = (data[0] & 2) != 0;
  options.header_lines = data[0] >> 2 & 3;
  shufflefs::Run(std::string(data + 1, data + size), options);
  return 0;
}
