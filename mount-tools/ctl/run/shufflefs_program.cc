// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/run/shufflefs_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace shufflefs {

std::string ShufflefsProgram() {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / "shufflefs").string();
  return !error && access(beside.c_str(), X_OK) == 0 ? beside : "shufflefs";
}

}  // namespace shufflefs
