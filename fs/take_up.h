// SPDX-License-Identifier: Apache-2.0
// Listing a directory of the mount so that the kernel takes up its dentries.
#ifndef SHUFFLEFS_FS_TAKE_UP_H_
#define SHUFFLEFS_FS_TAKE_UP_H_

#include <cstddef>
#include <vector>

#include "absl/types/optional.h"

namespace shufflefs {

// Call Next until it gives nothing. Blocks; another thread must serve the
// mount meanwhile.
class TakeUp {
 public:
  // `fd`: the open directory; outlives this.
  explicit TakeUp(int fd);
  // Takes the next few hundred entries up and returns their number; nothing
  // at the end or on an error.
  absl::optional<size_t> Next();

 private:
  const int fd_;
  std::vector<char> buffer_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_TAKE_UP_H_
