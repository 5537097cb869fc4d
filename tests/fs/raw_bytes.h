// SPDX-License-Identifier: Apache-2.0
// Messages of the kernel, as tests make them.
#ifndef SHUFFLEFS_TESTS_FS_RAW_BYTES_H_
#define SHUFFLEFS_TESTS_FS_RAW_BYTES_H_

#include <string>

namespace shufflefs::testing_support {

// Appends the value as it lies in memory.
template <typename T>
void Put(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_FS_RAW_BYTES_H_
