// SPDX-License-Identifier: Apache-2.0
// What becomes of an exception that nobody catches. Work that may need much is
// called through OrExhausted (core/base/exhaustion.h). Memory can run out
// anywhere else, too, and then the process has to end.
#ifndef SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNCAUGHT_H_
#define SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNCAUGHT_H_

namespace shufflefs {

// From now on a process without memory or threads ends with status 1, after one
// line to stderr and to the system's log. Any other exception, or none, is an
// error of ours: after the line the process aborts, so that there is a core
// dump. Call it before any thread starts.
void EndOnUncaught();

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_DAEMON_UNCAUGHT_H_
