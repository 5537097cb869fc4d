// SPDX-License-Identifier: Apache-2.0
// Where the repository and its build are, for tests that read their files.
#ifndef SHUFFLEFS_TESTS_TESTING_PATHS_H_
#define SHUFFLEFS_TESTS_TESTING_PATHS_H_

#include <string>

namespace shufflefs::testing_support {

std::string RepositoryDir();
std::string BuildDir();

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_PATHS_H_
