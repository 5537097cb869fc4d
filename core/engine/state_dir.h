// SPDX-License-Identifier: Apache-2.0
// The state directory of a mount: catalogue, where its files lie, ledger, what
// was set through the control file, what met has learnt, and a lock that one
// daemon holds while it lives. Nobody else can have put anything into it
// (core/base/files/owned_dir.h).
#ifndef SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_
#define SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"
#include "core/config/config.h"

namespace shufflefs {

// Where the state of a mount lies: `config.state`, or by default a directory
// named after source and mountpoint below /var/lib/shufflefs for root, else
// below $XDG_STATE_HOME/shufflefs (~/.local/state/shufflefs).
// FailedPrecondition where neither variable says: there is no place that others
// do not share.
absl::StatusOr<std::string> StatePath(const MountConfig& config);

// Names in the state directory.
inline constexpr char kCatalogueFile[] = "catalogue";
inline constexpr char kPlacesFile[] = "places";
inline constexpr char kRecordIndexes[] = "records";  // a directory
inline constexpr char kLedgerFile[] = "ledger";
inline constexpr char kControlFile[] = "control.toml";
inline constexpr char kLearntFile[] = "learnt";
inline constexpr char kPassedThroughFile[] = "passed-through";
inline constexpr char kLockFile[] = "lock";

// For who only reads, from outside: they may be another user's.
inline std::string CataloguePath(const std::string& path) {
  return path + "/" + kCatalogueFile;
}
inline std::string LedgerPath(const std::string& path) {
  return path + "/" + kLedgerFile;
}
inline std::string LockPath(const std::string& path) {
  return path + "/" + kLockFile;
}

// The process that holds the lock of the state at `path`; 0 if none does, or
// none that can be seen from here.
pid_t HolderOf(const std::string& path);
// Whether that process was killed, or ends, and has not ended yet.
bool HolderIsDying(const std::string& path);

class StateDir {
 public:
  // Makes the directory and locks it; waits for a daemon that is dying. Errors:
  // those of OwnedDir::Make and FilePlace::Open; FailedPrecondition when
  // another daemon holds the lock.
  static absl::StatusOr<StateDir> Open(const std::string& path);

  const OwnedDir& dir() const { return dir_; }
  const std::string& path() const { return dir_.path(); }
  FilePlace catalogue() const { return FilePlace(dir_, kCatalogueFile); }
  FilePlace places() const { return FilePlace(dir_, kPlacesFile); }
  FilePlace ledger() const { return FilePlace(dir_, kLedgerFile); }
  FilePlace control_memory() const { return FilePlace(dir_, kControlFile); }
  // Whether a mount that ended passed files through and had shown no view yet.
  bool passed_through() const;
  // Sets that. Where it cannot be, a line in the log says so.
  void SetPassedThrough(bool passed) const;
  // Repeating factors, see learnt_factors.h.
  FilePlace learnt() const { return FilePlace(dir_, kLearntFile); }

 private:
  StateDir(OwnedDir dir, UniqueFd lock)
      : dir_(std::move(dir)), lock_(std::move(lock)) {}

  OwnedDir dir_;
  UniqueFd lock_;  // the lock goes with the descriptor, also after kill -9
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_
