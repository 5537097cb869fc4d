// SPDX-License-Identifier: Apache-2.0
// What a program prints.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_PROGRAM_OUTPUT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_PROGRAM_OUTPUT_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace shufflefs {

inline constexpr size_t kMostProgramOutput = size_t{16} << 20;

// What words[0], found in PATH, prints to stdout before it ends; of more than
// kMostProgramOutput, the end. "" if it cannot be started or takes longer than
// `wait`; then it is killed.
std::string ProgramOutput(const std::vector<std::string>& words,
                          std::chrono::milliseconds wait);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_DOCTOR_PROGRAM_OUTPUT_H_
