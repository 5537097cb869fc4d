// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/daemon/uncaught.h"

#include <syslog.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace shufflefs {
namespace {

// Allocates nothing and takes no lock of ours: the thread that threw may hold
// that of the log.
void Say(const char* line) {
  const ssize_t ignored = write(STDERR_FILENO, line, std::strlen(line));
  static_cast<void>(ignored);
  syslog(LOG_DAEMON | LOG_CRIT, "%s", line);
}

[[noreturn]] void Fault(const std::exception& error) {
  Say("shufflefs: ends because of an error of its own, which follows; please "
      "report it\n");
  Say(error.what());
  std::abort();
}

[[noreturn]] void End() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) {
      std::rethrow_exception(thrown);
    }
  } catch (const std::bad_alloc&) {
    Say("shufflefs: no memory is left; raise the limit of this process "
        "(ulimit -v, or the service's), or set a smaller memory=\n");
    _exit(1);
  } catch (const std::system_error& error) {
    // What else the library throws so, as of paths, is no exhaustion.
    if (error.code() != std::errc::resource_unavailable_try_again) Fault(error);
    Say("shufflefs: cannot start a thread; raise the limit of processes "
        "(ulimit -u)\n");
    _exit(1);
  } catch (const std::exception& error) {
    Fault(error);
  } catch (...) {
  }
  Fault(std::exception());  // it tells no more
}

}  // namespace

void EndOnUncaught() { std::set_terminate(End); }

}  // namespace shufflefs
