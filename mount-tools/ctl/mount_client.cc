// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/mount_client.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "fs/fuse/mount_point.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/control_file.h"
#include "mount-tools/ctl/status_text.h"

namespace shufflefs {
namespace {

// Of a command that asks one mount. Scripts rely on it, so a daemon on a loaded
// machine gets more time than in a list of mounts.
constexpr std::chrono::milliseconds kLongPatience{5000};

// What the mount of another user says may have no end. A status may name many
// files; an order has a line for each sample.
constexpr uint64_t kMostText = uint64_t{64} << 20;
constexpr uint64_t kMostOrder = uint64_t{64} << 30;

std::vector<std::string> Mountpoints(const std::vector<MountEntry>& mounts) {
  std::vector<std::string> paths;
  for (const MountEntry& mount : ShufflefsMounts(mounts)) {
    paths.push_back(mount.mountpoint);
  }
  return paths;
}

std::string ListOf(const std::vector<std::string>& mountpoints) {
  return mountpoints.empty()
             ? "nothing is mounted by shufflefs; mount with: shufflefs DATA "
               "MOUNTPOINT"
             : absl::StrCat("mounted: ", absl::StrJoin(mountpoints, ", "));
}

bool ExistsAsDirectory(const std::string& path) {
  struct stat attributes;
  return stat(path.c_str(), &attributes) == 0 && S_ISDIR(attributes.st_mode);
}

}  // namespace

void DeclareMountPath(CLI::App& app, bool positional, std::string& path) {
  CLI::Option* named =
      app.add_option("-m,--mount", path,
                     "the mount (default: that of the working directory, or "
                     "the only one)")
          ->type_name("MOUNTPOINT");
  if (positional) {
    app.add_option("mountpoint", path, "the mount, as with -m")
        ->type_name("")
        ->excludes(named);
  }
}

void DeclareMountChoice(CLI::App& app, bool positional, MountChoice& choice) {
  DeclareMountPath(app, positional, choice.path);
  app.add_option("--view", choice.view,
                 "one view, by its name (default: all of the mount)")
      ->type_name("NAME");
}

absl::StatusOr<MountEntry> ChooseMount(const MountChoice& choice,
                                       absl::string_view cwd,
                                       const std::vector<MountEntry>& mounts) {
  const std::vector<std::string> mountpoints = Mountpoints(mounts);
  const std::string path =
      AbsolutePath(choice.path.empty() ? "." : choice.path, cwd);
  absl::optional<MountEntry> mount = MountAt(path, mounts);
  if (mount && mount->is_shufflefs()) return *std::move(mount);
  if (!choice.path.empty()) {
    return absl::NotFoundError(absl::StrCat(
        path, ": is not inside a shufflefs mount; ",
        mountpoints.empty() ? "mount with: shufflefs DATA MOUNTPOINT"
                            : ListOf(mountpoints)));
  }
  if (mountpoints.empty()) return absl::NotFoundError(ListOf(mountpoints));
  if (mountpoints.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "several mounts; choose one with -m; ", ListOf(mountpoints)));
  }
  return ShufflefsMounts(mounts).front();
}

absl::StatusOr<std::vector<MountEntry>> ChooseMounts(
    const MountChoice& choice, absl::string_view cwd,
    const std::vector<MountEntry>& mounts) {
  const absl::StatusOr<MountEntry> mount = ChooseMount(choice, cwd, mounts);
  if (mount.ok()) return std::vector<MountEntry>{*mount};
  if (!absl::IsInvalidArgument(mount.status())) return mount.status();
  return ShufflefsMounts(mounts);
}

std::vector<MountEntry> ShufflefsMounts(const std::vector<MountEntry>& mounts) {
  std::map<std::string, const MountEntry*> topmost;
  for (const MountEntry& mount : mounts) topmost[mount.mountpoint] = &mount;
  std::vector<MountEntry> ours;
  for (const auto& [path, mount] : topmost) {
    if (mount->is_shufflefs()) ours.push_back(*mount);
  }
  return ours;
}

absl::StatusOr<MountClient> MountClient::Find(const MountChoice& choice,
                                              absl::string_view cwd) {
  ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
  ASSIGN_OR_RETURN(const MountEntry mount, ChooseMount(choice, cwd, mounts));
  return At(mount.mountpoint, choice.view);
}

absl::StatusOr<MountClient> MountClient::At(const std::string& mountpoint,
                                            const std::string& view) {
  switch (AskMount(mountpoint, kLongPatience)) {
    case MountState::kDead:
      return absl::UnavailableError(absl::StrCat(
          mountpoint,
          ": its daemon is gone; mount again with the same command, or: "
          "shufflectl umount ",
          mountpoint));
    case MountState::kSilent:
      return absl::UnavailableError(absl::StrCat(
          mountpoint,
          ": its daemon does not answer; end it with: shufflectl umount -l ",
          mountpoint));
    case MountState::kRefuses:  // says so when a file is opened
    case MountState::kAnswers:
      break;
  }
  return MountClient(mountpoint, view);
}

std::string MountClient::Root() const {
  return absl::StrCat(mountpoint_ == "/" ? "" : mountpoint_, "/.shufflefs");
}

std::string MountClient::NameOf(absl::string_view file) const {
  if (view_.empty()) return absl::StrCat(".shufflefs/", file);
  return absl::StrCat(".shufflefs/view/", view_, "/", file);
}

std::string MountClient::PathOf(absl::string_view file) const {
  return absl::StrCat(mountpoint_ == "/" ? "" : mountpoint_, "/", NameOf(file));
}

absl::StatusOr<std::string> MountClient::Read(absl::string_view file) const {
  const uint64_t most = file == "order" ? kMostOrder : kMostText;
  std::string text;
  const auto append = [&](absl::string_view piece) {
    if (piece.size() > most - text.size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat(PathOf(file), ": has more than ", FormatBytes(most),
                       ", so it is none of shufflefs"));
    }
    text.append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachPiece(file, append));
  return text;
}

absl::StatusOr<MountConfig> MountClient::ReadConfig() const {
  ASSIGN_OR_RETURN(const std::string control, Read("control"));
  ASSIGN_OR_RETURN(MountConfig config,
                   ParseEffective(control, PathOf("control")));
  config.mountpoint = mountpoint_;
  // As the kernel has it, byte for byte. JSON has no bytes that are not UTF-8.
  ASSIGN_OR_RETURN(const std::vector<MountEntry> mounts, ReadMountInfo());
  for (const MountEntry& mount : ShufflefsMounts(mounts)) {
    if (mount.mountpoint == mountpoint_) config.source = mount.source;
  }
  return config;
}

absl::Status MountClient::Copy(absl::string_view file,
                               std::ostream& out) const {
  return ForEachPiece(file, [&](absl::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (out) return absl::OkStatus();
    return WithNext(ErrnoStatus(EIO, "cannot write the output"),
                    "free space there");
  });
}

absl::Status MountClient::ForEachPiece(
    absl::string_view file,
    absl::FunctionRef<absl::Status(absl::string_view)> take) const {
  const std::string path = PathOf(file);
  const absl::StatusOr<UniqueFd> fd =
      OpenControlFile(mountpoint_, NameOf(file), O_RDONLY);
  if (!fd.ok()) {
    const int error = ErrnoOf(fd.status()).value_or(0);
    if (error == ENOENT && !view_.empty() && ExistsAsDirectory(Root())) {
      return NoSuchView();
    }
    if (error == ENOENT && view_.empty() && ExistsAsDirectory(Root())) {
      return absl::NotFoundError(absl::StrCat(
          mountpoint_, ": has several views; choose one with --view"));
    }
    return Refused(fd.status(), path);
  }
  std::vector<char> buffer(size_t{1} << 18);
  while (true) {
    const ssize_t got = read(fd->get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) return absl::OkStatus();
    RETURN_IF_ERROR(
        take(absl::string_view(buffer.data(), static_cast<size_t>(got))));
  }
}

absl::Status MountClient::WriteControl(absl::string_view text) const {
  return Write("control", text);
}

absl::Status MountClient::WriteToken(absl::string_view text) const {
  return Write("token", text);
}

absl::Status MountClient::NoSuchView() const {
  const absl::StatusOr<std::string> status =
      MountClient(mountpoint_, "").Read("status");
  if (status.ok() && IsIndexing(*status, view_).value_or(false)) {
    return absl::UnavailableError(
        absl::StrCat(mountpoint_,
                     ": the catalogue is still being made; try again when "
                     "shufflectl status shows an epoch"));
  }
  return absl::NotFoundError(
      absl::StrCat(mountpoint_, ": there is no view \"", view_,
                   "\"; shufflectl status lists the views"));
}

absl::Status MountClient::Refused(const absl::Status& refused,
                                  const std::string& path) const {
  const absl::optional<int> error = ErrnoOf(refused);
  if (error == ELOOP || error == EXDEV) {
    return WithNext(refused,
                    "a link or another mount is in its place, so this is no "
                    "mount of shufflefs");
  }
  if (error == EROFS) {
    return WithNext(refused,
                    "it was mounted with -o ro, so nothing can be set; mount "
                    "it again without ro");
  }
  if (error != EACCES) return refused;
  struct stat st;
  if (lstat(path.c_str(), &st) == 0) {
    return WithNext(refused,
                    absl::StrCat("only the mount's owner (user ", st.st_uid,
                                 ") or the group of control.gid may do this"));
  }
  if (errno != EACCES) return refused;
  return WithNext(refused,
                  "only the user who mounted it may enter; for others, mount "
                  "with -o allow_other");
}

absl::Status MountClient::Write(absl::string_view file,
                                absl::string_view text) const {
  const std::string path = PathOf(file);
  const absl::StatusOr<UniqueFd> fd =
      OpenControlFile(mountpoint_, NameOf(file), O_WRONLY);
  if (!fd.ok()) {
    const absl::Status status = Read("status").status();
    const bool is_missing = ErrnoOf(fd.status()) == ENOENT;
    if (is_missing &&
        (absl::IsNotFound(status) || absl::IsUnavailable(status))) {
      return status;
    }
    return Refused(fd.status(), path);
  }
  const ssize_t written = write(fd->get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return absl::OkStatus();
  if (written >= 0) return ErrnoStatus(EIO, path);
  const int error = errno;
  if (error != EINVAL) return ErrnoStatus(error, path);
  absl::StatusOr<std::string> why = Read("error");
  if (!why.ok() || why->empty()) return ErrnoStatus(error, path);
  return absl::FailedPreconditionError(
      absl::StripTrailingAsciiWhitespace(*why));
}

}  // namespace shufflefs
