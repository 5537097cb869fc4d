// SPDX-License-Identifier: Apache-2.0
// StateDir is the state directory of a mount. It has the catalogue, the places
// of its files, the figures of slow devices, the ledger, what was set through
// the control file, what met has learnt, and a lock. One daemon holds the lock
// while it lives. Nobody else can have put anything into the directory
// (core/base/files/owned_dir.h).
#ifndef SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_
#define SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"
#include "core/config/config.h"

namespace shufflefs {

// Returns the state directory of a mount: `config.state` if set. Otherwise it
// is a directory named after source and mountpoint. For root it is below
// /var/lib/shufflefs, for others below $XDG_STATE_HOME/shufflefs
// (~/.local/state/shufflefs). Errors: FailedPrecondition if neither variable is
// set, because every other place is shared.
absl::StatusOr<std::string> StatePath(const MountConfig& config);

// Names in the state directory.
inline constexpr char kCatalogueFile[] = "catalogue";
inline constexpr char kPlacesFile[] = "places";
inline constexpr char kDevicesFile[] = "devices";
inline constexpr char kRecordIndexes[] = "records";  // a directory
inline constexpr char kLedgerFile[] = "ledger";
inline constexpr char kControlFile[] = "control.toml";
inline constexpr char kSavedFactorsFile[] = "learnt";
inline constexpr char kPassedThroughFile[] = "passed-through";
inline constexpr char kLockFile[] = "lock";

// For programs that only read from outside. The files may belong to another
// user.
inline std::string CataloguePath(const std::string& path) {
  return path + "/" + kCatalogueFile;
}
inline std::string LedgerPath(const std::string& path) {
  return path + "/" + kLedgerFile;
}
inline std::string LockPath(const std::string& path) {
  return path + "/" + kLockFile;
}

// Returns the process that holds the lock of the state at `path`. Returns 0 if
// there is none, or none that is visible from here.
pid_t HolderOf(const std::string& path);
// Returns whether this process was killed or ends, and has not ended yet.
bool HolderIsDying(const std::string& path);
// Returns whether the daemon of `mount` was killed or ends. `mount` is as in
// StateDir::SetMount. False if the state at `path` is not known to be that of
// the mount: then it tells nothing about its daemon.
bool DaemonIsDying(const std::string& path, absl::string_view mount);

class StateDir {
 public:
  // Makes the directory and locks it. Blocks while a dying daemon holds the
  // lock. Errors: those of OwnedDir::Make and FilePlace::Open;
  // FailedPrecondition if another daemon holds the lock.
  static absl::StatusOr<StateDir> Open(const std::string& path);

  const OwnedDir& dir() const { return dir_; }
  const std::string& path() const { return dir_.path(); }
  FilePlace catalogue() const { return FilePlace(dir_, kCatalogueFile); }
  FilePlace places() const { return FilePlace(dir_, kPlacesFile); }
  FilePlace devices() const { return FilePlace(dir_, kDevicesFile); }
  FilePlace ledger() const { return FilePlace(dir_, kLedgerFile); }
  FilePlace control_memory() const { return FilePlace(dir_, kControlFile); }
  // Returns whether a mount that ended passed files through and had not shown a
  // view yet.
  bool passed_through() const;
  // Sets this. Logs a line if it cannot be saved.
  void SetPassedThrough(bool passed) const;
  // Notes in the lock which mount the state serves, in one line that no other
  // mount ever has. If it cannot be saved, DaemonIsDying is false for it.
  void SetMount(absl::string_view mount) const;
  // Repeating factors; see saved_factors.h.
  FilePlace saved_factors() const { return FilePlace(dir_, kSavedFactorsFile); }

 private:
  StateDir(OwnedDir dir, UniqueFd lock)
      : dir_(std::move(dir)), lock_(std::move(lock)) {}

  OwnedDir dir_;
  UniqueFd lock_;  // the descriptor holds the lock; kill -9 frees it too
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_STATE_DIR_H_
