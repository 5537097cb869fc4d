// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/paths.h"

namespace shufflefs::testing_support {

std::string SourceDir() { return SHUFFLEFS_SOURCE_DIR; }
std::string BinaryDir() { return SHUFFLEFS_BINARY_DIR; }

}  // namespace shufflefs::testing_support
