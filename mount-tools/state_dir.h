// SPDX-License-Identifier: Apache-2.0
// The state directory of a mount: catalogue, where its files lie, ledger, what
// was set through the control file, what met has learnt, and a lock that one
// daemon holds while it lives.
#ifndef SHUFFLEFS_MOUNT_TOOLS_STATE_DIR_H_
#define SHUFFLEFS_MOUNT_TOOLS_STATE_DIR_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/config.h"
#include "core/io/unique_fd.h"

namespace shufflefs {

// Where the state of a mount lies: `config.state`, or by default a directory
// named after source and mountpoint below /var/lib/shufflefs for root, else
// below $XDG_STATE_HOME/shufflefs (~/.local/state/shufflefs).
std::string StatePath(const MountConfig& config);

// Files in the state directory at `path`.
inline std::string CataloguePath(const std::string& path) {
  return path + "/catalogue";
}
inline std::string PlacesPath(const std::string& path) {
  return path + "/places";
}
inline std::string RecordIndexPath(const std::string& path) {
  return path + "/records";
}
inline std::string LedgerPath(const std::string& path) {
  return path + "/ledger";
}
inline std::string ControlMemoryPath(const std::string& path) {
  return path + "/control.toml";
}
inline std::string PassedThroughPath(const std::string& path) {
  return path + "/passed-through";
}
inline std::string LockPath(const std::string& path) { return path + "/lock"; }
inline std::string LearntPath(const std::string& path) {
  return path + "/learnt";
}

// The process that holds the lock of the state at `path`; 0 if none does, or
// none that can be seen from here.
pid_t HolderOf(const std::string& path);
// Whether that process was killed, or ends, and has not ended yet.
bool HolderIsDying(const std::string& path);

class StateDir {
 public:
  // Makes the directory (0700) and locks it; waits for a daemon that is dying.
  // Errors, naming the path: the errno; FailedPrecondition when another daemon
  // holds the lock.
  static absl::StatusOr<StateDir> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string catalogue() const { return CataloguePath(path_); }
  std::string places() const { return PlacesPath(path_); }
  // A directory, made when it is needed: an index a container.
  std::string records() const { return RecordIndexPath(path_); }
  std::string ledger() const { return LedgerPath(path_); }
  std::string control_memory() const { return ControlMemoryPath(path_); }
  // Whether a mount that ended passed files through and had shown no view yet.
  bool passed_through() const;
  // Sets that. Where it cannot be, a line in the log says so.
  void SetPassedThrough(bool passed) const;
  // Repeating factors, see learnt_factors.h.
  std::string learnt() const { return LearntPath(path_); }

 private:
  StateDir(std::string path, UniqueFd lock);

  std::string path_;
  UniqueFd lock_;  // the lock goes with the descriptor, also after kill -9
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_STATE_DIR_H_
