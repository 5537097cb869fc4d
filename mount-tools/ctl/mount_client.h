// SPDX-License-Identifier: Apache-2.0
// Communicates with a mount by plain file I/O on its control directory, as any
// program may (see shufflefs(1), FILES).
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_MOUNT_CLIENT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_MOUNT_CLIENT_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/files/mount_table.h"
#include "core/config/config.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shufflefs {

// The mount that a user means.
struct MountChoice {
  std::string path;  // "" = the one with the working directory, or the only one
  std::string view;  // "" = the whole mount
};

// Adds -m/--mount and, if `positional`, also the argument MOUNTPOINT.
void DeclareMountPath(CLI::App& app, bool positional, std::string& path);
// The same, and --view.
void DeclareMountChoice(CLI::App& app, bool positional, MountChoice& choice);

// The shufflefs mount that `choice` means. Errors, one line: NotFound if there
// is none, InvalidArgument if there are several and none is chosen.
absl::StatusOr<MountEntry> ChooseMount(const MountChoice& choice,
                                       absl::string_view cwd,
                                       const std::vector<MountEntry>& mounts);

// The same, and all mounts if there are several and none is chosen.
absl::StatusOr<std::vector<MountEntry>> ChooseMounts(
    const MountChoice& choice, absl::string_view cwd,
    const std::vector<MountEntry>& mounts);

// The shufflefs mounts among `mounts` that are visible, by mount point.
std::vector<MountEntry> ShufflefsMounts(const std::vector<MountEntry>& mounts);

// Immutable; any thread may call. Methods block as long as the daemon does.
class MountClient {
 public:
  // ChooseMount among this machine's mounts. Errors: also Unavailable if the
  // mount's daemon is gone, or does not answer for some seconds.
  static absl::StatusOr<MountClient> Find(const MountChoice& choice,
                                          absl::string_view cwd);
  // For the mount at `mountpoint`. Errors: Unavailable as above.
  static absl::StatusOr<MountClient> At(const std::string& mountpoint,
                                        const std::string& view);
  MountClient(std::string mountpoint, std::string view)
      : mountpoint_(std::move(mountpoint)), view_(std::move(view)) {}

  const std::string& mountpoint() const { return mountpoint_; }
  const std::string& view() const { return view_; }  // "" = the whole mount
  // The path of a control file of the view:
  // MOUNTPOINT/.shufflefs[/view/NAME]/FILE.
  std::string PathOf(absl::string_view file) const;

  // Reads a whole control file. Errors: its errno, naming the path; NotFound,
  // which lists the views; Unavailable if the view is still being indexed;
  // ResourceExhausted if it is larger than any of shufflefs.
  absl::StatusOr<std::string> Read(absl::string_view file) const;
  // The configuration of the view, or of the whole mount with all its views,
  // whatever bytes their paths have. Errors: also InvalidArgument if `control`
  // is none.
  absl::StatusOr<MountConfig> ReadConfig() const;
  // The same as Read, written to `out` piece by piece.
  absl::Status Copy(absl::string_view file, std::ostream& out) const;
  // Writes `text` to `control` at once. Errors: FailedPrecondition with the
  // text of `error` if the daemon refused; else the errno.
  absl::Status WriteControl(absl::string_view text) const;
  // The same for `token`.
  absl::Status WriteToken(absl::string_view text) const;

 private:
  // Copy's errors, and those of `take`.
  absl::Status ForEachPiece(
      absl::string_view file,
      absl::FunctionRef<absl::Status(absl::string_view)> take) const;
  // Why the view has no control files.
  absl::Status NoSuchView() const;
  // Why a control file cannot be opened.
  absl::Status Refused(const absl::Status& refused,
                       const std::string& path) const;
  std::string NameOf(absl::string_view file) const;  // below the mount point
  std::string Root() const;
  absl::Status Write(absl::string_view file, absl::string_view text) const;

  // Constant after construction.
  std::string mountpoint_;
  std::string view_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_MOUNT_CLIENT_H_
