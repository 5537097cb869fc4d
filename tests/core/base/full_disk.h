// SPDX-License-Identifier: Apache-2.0
// A disk that is full, for one process.
#ifndef SHUFFLEFS_TESTS_CORE_BASE_FULL_DISK_H_
#define SHUFFLEFS_TESTS_CORE_BASE_FULL_DISK_H_

#include <signal.h>
#include <sys/resource.h>

#include "gtest/gtest.h"

namespace shufflefs::testing_support {

// While it lives, no file can have more than `bytes`, as if the disk were full.
// A write to behind them fails with EFBIG, also if the file is longer already.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FullDisk() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_BASE_FULL_DISK_H_
