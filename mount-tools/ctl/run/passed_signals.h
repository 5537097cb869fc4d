// SPDX-License-Identifier: Apache-2.0
// Starts programs, and passes signals on to one that runs in our place.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PASSED_SIGNALS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PASSED_SIGNALS_H_

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shufflefs {

// While it lives, signals that others send to end a process, or to tell it
// something (SIGUSR1, …), wait on this thread until a method takes them. Those
// that were ignored before stay so. REQUIRES: no other thread, one object at a
// time.
class PassedSignals {
 public:
  PassedSignals();
  ~PassedSignals();
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  struct How {
    bool apart = false;  // a session of its own: no signal of the terminal
    bool output_to_stderr = false;
  };
  // Starts words[0], found in PATH, with the signals as they were before.
  // Errors: the errno, also ENOENT and EACCES of the program.
  absl::StatusOr<pid_t> Start(const std::vector<std::string>& words,
                              const How& how) const;

  // A signal that has come to end us and was not taken. 0 if there is none.
  int Came() const;
  // Lets the signals through again, in a child that does not exec.
  void Restore() const;

  // Waits for the end of `child` and passes signals on to it. One that the
  // terminal sent has reached it already, and one that it sent itself is not
  // for it. Returns its exit status as a shell does: 128+n if signal n ended
  // it.
  int AwaitAndPass(pid_t child) const;

  // Waits for the end of `child`, and kills it if a signal comes to end us.
  // Returns its exit status, or 128+n for that signal, which `came` then holds.
  // Others wait for AwaitAndPass.
  int AwaitUnless(pid_t child, int& came) const;

 private:
  sigset_t ending_;   // those that end us, and SIGCHLD
  sigset_t signals_;  // all of them
  sigset_t before_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_RUN_PASSED_SIGNALS_H_
