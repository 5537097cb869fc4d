// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/doctor/system_facts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/files/unique_fd.h"
#include "core/base/machine_memory.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/doctor/program_output.h"
#include "mount-tools/ctl/run/shufflefs_program.h"

namespace shufflefs {
namespace {

constexpr std::chrono::milliseconds kProgramTime{3000};

std::string SmallFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string Distribution() {
  for (absl::string_view line :
       absl::StrSplit(SmallFile("/etc/os-release"), '\n')) {
    if (!absl::ConsumePrefix(&line, "PRETTY_NAME=")) continue;
    return std::string(absl::StripPrefix(absl::StripSuffix(line, "\""), "\""));
  }
  return "";
}

std::string Kernel() {
  utsname names;
  if (uname(&names) != 0) return "";
  return absl::StrCat(names.sysname, " ", names.release, " ", names.machine);
}

// The file name of libfuse, which has its version, as this process has mapped
// it.
std::string LoadedLibfuse() {
  for (absl::string_view line :
       absl::StrSplit(SmallFile("/proc/self/maps"), '\n')) {
    const size_t at = line.find("/libfuse");
    if (at != absl::string_view::npos) return std::string(line.substr(at + 1));
  }
  return "";
}

std::string InPath(const std::string& name) {
  const char* const path = getenv("PATH");
  for (absl::string_view place :
       absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string file = absl::StrCat(place, "/", name);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

ProgramFacts FactsOfProgram(const std::string& path) {
  ProgramFacts facts;
  facts.path = path;
  if (path.empty()) return facts;
  facts.version = FirstLine(ProgramOutput({path, "--version"}, kProgramTime));
  struct stat st;
  if (stat(path.c_str(), &st) == 0) {
    facts.mode = st.st_mode & 07777;
    facts.owner = st.st_uid;
  }
  struct statvfs place;
  facts.no_suid =
      statvfs(path.c_str(), &place) == 0 && (place.f_flag & ST_NOSUID) != 0;
  return facts;
}

void FindDevice(SystemFacts& facts) {
  struct stat st;
  facts.device_exists = stat("/dev/fuse", &st) == 0;
  if (!facts.device_exists) return;
  facts.device_mode = st.st_mode & 07777;
  const UniqueFd fd(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  facts.device_error = fd.valid() ? 0 : errno;
}

std::string LimitText(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : absl::StrCat(limit);
}

void FindLimits(SystemFacts& facts) {
  const struct {
    const char* name;
    int which;
  } kinds[] = {{"RLIMIT_NOFILE", RLIMIT_NOFILE},
               {"RLIMIT_NPROC", RLIMIT_NPROC},
               {"RLIMIT_AS", RLIMIT_AS},
               {"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK}};
  for (const auto& kind : kinds) {
    rlimit limit;
    if (getrlimit(static_cast<__rlimit_resource_t>(kind.which), &limit) != 0) {
      continue;
    }
    if (kind.which == RLIMIT_NOFILE) facts.open_files = limit.rlim_cur;
    facts.limits.emplace_back(
        kind.name, absl::StrCat(LimitText(limit.rlim_cur), ", at most ",
                                LimitText(limit.rlim_max)));
  }
  const MachineMemory memory = FindMachineMemory();
  facts.limits.emplace_back(
      "memory",
      absl::StrCat(HumanBytes(memory.bytes), ", by ",
                   memory.decided_by.empty() ? "nothing" : memory.decided_by));
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator it("/proc/sys/user", error), end;
       !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    facts.limits.emplace_back(
        absl::StrCat("user.", name),
        FirstLine(SmallFile(absl::StrCat("/proc/sys/user/", name))));
  }
}

bool HasLine(const std::string& text, absl::string_view wanted) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StripAsciiWhitespace(line) == wanted) return true;
  }
  return false;
}

std::string ModeText(uint32_t mode) {
  return absl::StrCat(mode >> 9 & 7, mode >> 6 & 7, mode >> 3 & 7, mode & 7);
}

}  // namespace

SystemFacts FindSystemFacts() {
  SystemFacts facts;
  facts.user = geteuid();
  facts.ctl_version = SHUFFLEFS_VERSION;
  facts.kernel = Kernel();
  facts.distribution = Distribution();
  facts.libfuse = LoadedLibfuse();
  facts.in_container = access("/.dockerenv", F_OK) == 0 ||
                       access("/run/.containerenv", F_OK) == 0;
  facts.kernel_has_fuse =
      HasLine(SmallFile("/proc/filesystems"), "nodev\tfuse");
  FindDevice(facts);
  facts.user_allow_other =
      HasLine(SmallFile("/etc/fuse.conf"), "user_allow_other");
  const std::string beside = ShufflefsProgram();
  facts.shufflefs =
      FactsOfProgram(absl::StrContains(beside, '/') ? beside : InPath(beside));
  facts.fusermount = FactsOfProgram(InPath("fusermount3"));
  FindLimits(facts);
  return facts;
}

std::vector<std::string> SystemAdvice(const SystemFacts& facts) {
  std::vector<std::string> advice;
  const std::string in_container =
      "in a container: --device /dev/fuse --cap-add SYS_ADMIN";
  if (!facts.kernel_has_fuse || !facts.device_exists) {
    advice.push_back(absl::StrCat(
        facts.device_exists ? "the kernel has no FUSE" : "/dev/fuse is missing",
        ": modprobe fuse; ", in_container));
  } else if (facts.device_error != 0) {
    advice.push_back(absl::StrCat(
        facts.user == 0
            ? "root may not open /dev/fuse; "
            : "you may not open /dev/fuse: as root, chmod 666 /dev/fuse; ",
        in_container));
  }
  if (facts.shufflefs.path.empty()) {
    advice.push_back(
        "shufflefs is neither beside shufflectl nor in PATH: install it there");
  } else if (facts.shufflefs.version !=
             absl::StrCat("shufflefs ", facts.ctl_version)) {
    advice.push_back(absl::StrCat(
        "shufflectl has version ", facts.ctl_version,
        " and shufflefs another one: install both from the same build"));
  }
  if (facts.open_files < 1024) {
    advice.push_back(absl::StrCat("only ", facts.open_files,
                                  " files may be open: ulimit -n 4096"));
  }
  if (facts.user == 0) return advice;
  const ProgramFacts& helper = facts.fusermount;
  if (helper.path.empty()) {
    advice.push_back(
        "fusermount3 is missing, so only root can mount: install fuse3");
  } else if (helper.no_suid || helper.owner != 0 ||
             (helper.mode & 04000) == 0) {
    advice.push_back(absl::StrCat(
        helper.path, " is not setuid root, so only root can mount: ",
        helper.no_suid ? "its file system is mounted nosuid"
                       : "as root, chown root and chmod 4755 it"));
  }
  if (!facts.user_allow_other) {
    advice.push_back(
        "if you need -o allow_other: add the line user_allow_other to "
        "/etc/fuse.conf, as root");
  }
  return advice;
}

std::string SystemText(const SystemFacts& facts) {
  const auto or_none = [](const std::string& text) {
    return text.empty() ? "not found" : text;
  };
  std::string text = absl::StrCat(
      "versions:\n  shufflectl ", facts.ctl_version, "\n  ",
      facts.shufflefs.path.empty() ? "shufflefs not found"
                                   : facts.shufflefs.version,
      "\n  ", or_none(facts.distribution),
      facts.in_container ? ", in a container" : "", "\n  ", facts.kernel,
      "\n  libfuse: ", or_none(facts.libfuse),
      "\nFUSE:\n  in the kernel: ", facts.kernel_has_fuse ? "yes" : "no",
      "\n  /dev/fuse: ",
      !facts.device_exists
          ? "missing"
          : absl::StrCat("mode ", ModeText(facts.device_mode),
                         facts.device_error == 0 ? ", may be opened"
                                                 : ", may not be opened"),
      "\n  ",
      facts.fusermount.path.empty() ? "fusermount3 not found"
                                    : facts.fusermount.version);
  if (!facts.fusermount.path.empty()) {
    absl::StrAppend(&text, ", ", facts.fusermount.path, ", mode ",
                    ModeText(facts.fusermount.mode), ", owner ",
                    facts.fusermount.owner);
  }
  absl::StrAppend(
      &text, "\n  user_allow_other: ", facts.user_allow_other ? "yes" : "no",
      "\nuser: ", facts.user == 0 ? "root" : "not root", "\nlimits:\n");
  for (const auto& [name, value] : facts.limits) {
    absl::StrAppend(&text, "  ", name, ": ", value, "\n");
  }
  return text;
}

}  // namespace shufflefs
