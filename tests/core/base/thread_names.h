// SPDX-License-Identifier: Apache-2.0
// The threads of this process.
#ifndef SHUFFLEFS_TESTS_CORE_BASE_THREAD_NAMES_H_
#define SHUFFLEFS_TESTS_CORE_BASE_THREAD_NAMES_H_

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace shufflefs::testing_support {

// How many there are whose name begins with `prefix`. A thread names itself
// soon after it was started, and one that was joined is seen for a moment: so
// many as are `expected` are waited for, unless that is 0.
inline int ThreadsNamed(const std::string& prefix, int expected = 1) {
  for (int tries = 0;; ++tries) {
    int count = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "comm");
      std::string name;
      std::getline(file, name);
      if (name.compare(0, prefix.size(), prefix) == 0) ++count;
    }
    if (expected == 0 || count == expected || tries == 1000) return count;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_BASE_THREAD_NAMES_H_
