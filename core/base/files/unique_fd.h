// SPDX-License-Identifier: Apache-2.0
// UniqueFd owns a file descriptor and closes it.
#ifndef SHUFFLEFS_CORE_BASE_FILES_UNIQUE_FD_H_
#define SHUFFLEFS_CORE_BASE_FILES_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace shufflefs {

class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes ownership of `fd`. A negative number means none.
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }  // -1 if there is none
  // Gives up ownership of the descriptor.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_FILES_UNIQUE_FD_H_
