// SPDX-License-Identifier: Apache-2.0
// Reads a file from start to end once, and passes over what is not wanted.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_PASS_READER_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_PASS_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"

namespace shufflefs {

// Not thread-safe; a thread of its own ("sfs-pass") reads the next bytes while
// these are looked at, once several pieces were read one behind the other.
// Pages that were read are given up in the kernel's cache as far as it can tell
// that nobody else has use for them.
class PassReader {
 public:
  // From so many bytes on a seek is cheaper than to read on: the kernel reads
  // ahead what lies behind a small gap anyway.
  static constexpr uint64_t kWorthSkipping = uint64_t{2} << 20;

  // `fd` stays the caller's, open, as long as the reader is used; `size`: of
  // the file.
  PassReader(int fd, uint64_t size);

  // The next bytes, 4 MiB at most, which stay until the next call. REQUIRES:
  // at() < size. Blocks for the file. Errors: as ReadAt; as EndsEarly if the
  // file ends before its size.
  absl::StatusOr<absl::string_view> Next();
  // Passes over the next bytes. REQUIRES: at() + bytes <= size.
  void Skip(uint64_t bytes);

  uint64_t at() const { return at_; }  // what comes next, bytes of the file

 private:
  // `count` bytes from `at` on. Errors: as Next.
  absl::Status Read(uint64_t at, uint64_t count, char* to) const;
  void FetchNext();
  // What FetchNext brought, in next_.
  absl::Status WaitForNext();

  // Constant after construction.
  const int fd_;
  const uint64_t size_;
  // Of the thread that calls, but for next_ while it is fetched.
  std::vector<char> buffer_;
  std::vector<char> next_;
  bool fetches_ = false;  // next_ is, or was and nobody waited for it
  uint64_t at_ = 0;
  // How much to read at once: little where bytes were passed over, which may
  // happen again soon; then more and more.
  uint64_t piece_;

  Mutex mu_;
  CondVar fetched_;
  absl::optional<absl::Status> next_status_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Worker> worker_;  // last: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_PASS_READER_H_
