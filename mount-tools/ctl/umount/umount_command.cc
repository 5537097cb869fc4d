// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/umount/umount_command.h"

#include <sys/types.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/files/mount_table.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/mount_client.h"
#include "mount-tools/ctl/umount/end_mount.h"

namespace shufflefs {
namespace {

// The kernel shows who mounted as an option of the mount.
absl::Status RefuseOthers(const MountEntry& mount) {
  if (geteuid() == 0) return absl::OkStatus();
  for (absl::string_view option : absl::StrSplit(mount.options, ',')) {
    uid_t owner = 0;
    if (!absl::ConsumePrefix(&option, "user_id=") ||
        !absl::SimpleAtoi(option, &owner) || owner == geteuid()) {
      continue;
    }
    return WithNext(
        ErrnoStatus(EACCES, absl::StrCat(mount.mountpoint,
                                         ": is the mount of another user")),
        absl::StrCat("only that user (", owner, ") or root may unmount it"));
  }
  return absl::OkStatus();
}

class UmountCommand : public Command {
 public:
  absl::string_view name() const override { return "umount"; }
  absl::string_view help() const override {
    return "unmount, even if the daemon is gone";
  }

  void Declare(CLI::App& app) override {
    DeclareMountPath(app, /*positional=*/true, choice_.path);
    app.add_flag("-l,--lazy", lazy_,
                 "detach now, even if files are open there");
    app.add_option("--wait", wait_,
                   "time to try while the mount is busy, and then to wait "
                   "for its daemon to end (default: 5s)")
        ->type_name("TIME");
  }

  absl::Status Run(const CommandContext& context) override {
    EndMountOptions options;
    const auto wait = ParseDuration(wait_);
    if (!wait) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--wait ", wait_, ": must be a time such as 500ms or 10s"));
    }
    options.wait = *wait;
    options.lazy = lazy_;
    ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
    ASSIGN_OR_RETURN(const MountEntry mount,
                     MountToEnd(choice_, context.cwd, mounts));
    RETURN_IF_ERROR(RefuseOthers(mount));
    const absl::Status status = EndMount(mount.mountpoint, options);
    if (!absl::IsUnavailable(status)) return status;
    return absl::UnavailableError(absl::StrCat(
        status.message(), "; end them, or detach with: shufflectl umount -l ",
        mount.mountpoint));
  }

 private:
  MountChoice choice_;
  bool lazy_ = false;
  std::string wait_ = "5s";
};

}  // namespace

absl::StatusOr<MountEntry> MountToEnd(const MountChoice& choice,
                                      absl::string_view cwd,
                                      const std::vector<MountEntry>& mounts) {
  absl::StatusOr<MountEntry> mount = ChooseMount(choice, cwd, mounts);
  if (!absl::IsNotFound(mount.status()) || !ShufflefsMounts(mounts).empty()) {
    return mount;
  }
  const std::string where =
      choice.path.empty() ? "nothing is mounted by shufflefs"
                          : absl::StrCat(AbsolutePath(choice.path, cwd),
                                         ": is not inside a shufflefs mount");
  return absl::NotFoundError(
      absl::StrCat(where, "; there is nothing to unmount"));
}

std::unique_ptr<Command> MakeUmountCommand() {
  return std::make_unique<UmountCommand>();
}

}  // namespace shufflefs
