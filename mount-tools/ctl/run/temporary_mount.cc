// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/temporary_mount.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/files/mount_table.h"
#include "core/base/status.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/umount/end_mount.h"
#include "mount-tools/ctl/run/shufflefs_program.h"
#include "mount-tools/daemon/command_line.h"

namespace shufflefs {
namespace {

bool IsMounted(const std::string& mountpoint) {
  const absl::StatusOr<std::vector<MountEntry>> mounts = ReadMountInfo();
  if (!mounts.ok()) return true;
  return std::any_of(mounts->begin(), mounts->end(), [&](const auto& mount) {
    return mount.mountpoint == mountpoint;
  });
}

// Ends the mount. If a process that the command left behind uses it, the mount
// is detached.
absl::Status Unmounted(const std::string& mountpoint,
                       const CommandContext& context) {
  EndMountOptions options;
  const absl::Status status = EndMount(mountpoint, options);
  if (status.ok() || absl::IsDeadlineExceeded(status)) return status;
  *context.err << "shufflectl: " << status.message()
               << "; detached, so it ends when they do\n";
  options.lazy = true;
  return EndMount(mountpoint, options);
}

// The words of shufflefs for a mount at `dir`.
absl::StatusOr<std::vector<std::string>> WordsFor(
    const MountRequest& request, const PrivateDir& dir,
    const CommandContext& context) {
  std::vector<std::string> words;
  if (!request.config.empty()) {
    RETURN_IF_ERROR(Annotate(RefuseHome(request.config), "config"));
    words = {"--config", AbsolutePath(request.config, context.cwd)};
  }
  for (const std::string& option : request.options) {
    words.insert(words.end(), {"-o", option});
  }
  words.insert(words.end(),
               {AbsolutePath(request.source, context.cwd), dir.mountpoint()});
  ASSIGN_OR_RETURN(const CommandLine line,
                   ParseCommandLine(words, context.cwd));
  if (line.config.state.empty()) {
    const std::string state =
        absl::StrReplaceAll(dir.state(), {{"\\", "\\\\"}, {",", "\\,"}});
    words.insert(words.begin(), {"-o", absl::StrCat("state=", state)});
  }
  words.insert(words.begin(), ShufflefsProgram());
  return words;
}

}  // namespace

absl::StatusOr<TemporaryMount> TemporaryMount::Make() {
  ASSIGN_OR_RETURN(PrivateDir dir, PrivateDir::Make(PrivatePlaces()));
  return TemporaryMount(std::move(dir));
}

absl::Status TemporaryMount::Start(const MountRequest& request,
                                   const PassedSignals& signals,
                                   const CommandContext& context,
                                   int& came) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> words,
                   WordsFor(request, dir_, context));
  ASSIGN_OR_RETURN(const pid_t child, signals.Start(words, {.apart = true}));
  const int status = signals.AwaitUnless(child, came);
  if (came != 0) return absl::CancelledError("interrupted while mounting");
  if (status == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(request.source, ": not mounted"));
}

absl::Status TemporaryMount::End(const CommandContext& context) const {
  absl::Status unmounted;
  absl::Status removed;
  // A daemon that was still starting may mount after the first look.
  for (int tries = 0; tries < 3; ++tries) {
    if (IsMounted(dir_.mountpoint())) {
      unmounted = Unmounted(dir_.mountpoint(), context);
    }
    removed = dir_.Remove();
    if (ErrnoOf(removed) != EBUSY) break;
  }
  // EndMount has left it; another mount may follow, with relative paths.
  if (chdir(context.cwd.c_str()) != 0) return ErrnoStatus(errno, context.cwd);
  if (removed.ok()) return unmounted;
  return absl::UnavailableError(
      absl::StrCat(unmounted.ok() ? removed.message() : unmounted.message(),
                   "; end it with: shufflectl umount ", dir_.mountpoint()));
}

}  // namespace shufflefs
