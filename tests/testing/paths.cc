// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/paths.h"

namespace shufflefs::testing_support {

std::string RepositoryDir() { return SHUFFLEFS_SOURCE_DIR; }
std::string BuildDir() { return SHUFFLEFS_BINARY_DIR; }

}  // namespace shufflefs::testing_support
