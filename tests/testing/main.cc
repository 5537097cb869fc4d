// SPDX-License-Identifier: Apache-2.0
// Runs the tests of one program. Sets up the log first, as the tools do. spdlog
// makes its registry at the first line. If two threads do this at once,
// ThreadSanitizer, which does not see into that library, reports a race.
#include "core/base/log.h"
#include "gmock/gmock.h"

int main(int argc, char** argv) {
  shufflefs::InitLog(shufflefs::LogTarget::kStderr, shufflefs::LogLevel::kInfo);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
