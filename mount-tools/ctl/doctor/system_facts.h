// SPDX-License-Identifier: Apache-2.0
// What decides on this machine whether and how shufflefs can mount.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_SYSTEM_FACTS_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_SYSTEM_FACTS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shufflefs {

struct ProgramFacts {
  std::string path;     // "" = not found
  std::string version;  // its first line, "" = it does not say
  uint32_t mode = 0;
  uid_t owner = 0;
  bool no_suid = false;  // its file system ignores the setuid bit
};

struct SystemFacts {
  uid_t user = 0;
  std::string ctl_version;
  std::string kernel;        // "Linux 6.1.0 x86_64"
  std::string distribution;  // "Debian GNU/Linux 12 (bookworm)"
  std::string libfuse;       // the library that is loaded
  bool in_container = false;
  bool kernel_has_fuse = false;
  bool device_exists = false;  // /dev/fuse
  uint32_t device_mode = 0;
  int device_error = 0;  // errno of opening it
  bool user_allow_other = false;
  ProgramFacts shufflefs;
  ProgramFacts fusermount;
  uint64_t open_files = 0;
  // Limits and the like, as name and value.
  std::vector<std::pair<std::string, std::string>> limits;
};

// Blocks for a few seconds at most.
SystemFacts FindSystemFacts();

// What is wrong, each with what to do, one line each.
std::vector<std::string> SystemAdvice(const SystemFacts& facts);

std::string SystemText(const SystemFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_SYSTEM_FACTS_H_
