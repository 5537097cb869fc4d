// SPDX-License-Identifier: Apache-2.0
// Runs the tests of one program. Sets up the log first, as the tools do. spdlog
// makes its registry at the first line. If two threads do this at once,
// ThreadSanitizer, which does not see into that library, reports a race.
#include "core/base/log.h"
#include "gmock/gmock.h"

// Abseil counts the references of a Status. Debian's library is not
// instrumented, so ThreadSanitizer does not see these counts: if two threads
// had the Status, it takes the last one's delete for a race. Of the calls of
// Unref the compiler may leave only that delete; then the other thread's Ref
// tells it. A Status that is copied while it is assigned is still reported:
// that race is about its pointer, which neither of the two reads.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:absl::*::Status::Unref\nrace:absl::*::Status::Ref\n";
}

int main(int argc, char** argv) {
  shufflefs::InitLog({});
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
