// SPDX-License-Identifier: Apache-2.0
// TFRecord files for tests.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/files/crc32c.h"

namespace shufflefs::testing_support {

template <typename T>
std::string LittleEndian(T number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof number; ++i) {
    bytes += static_cast<char>(number >> 8 * i & 0xff);
  }
  return bytes;
}

// The record that holds `data`: 16 bytes more.
inline std::string Tfrecord(absl::string_view data) {
  const std::string length = LittleEndian<uint64_t>(data.size());
  return absl::StrCat(length, LittleEndian(MaskedCrc32c(length)), data,
                      LittleEndian(MaskedCrc32c(data)));
}

inline std::string Tfrecords(const std::vector<std::string>& data) {
  std::string file;
  for (const std::string& one : data) file += Tfrecord(one);
  return file;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_TFRECORD_TFRECORD_FIXTURE_H_
