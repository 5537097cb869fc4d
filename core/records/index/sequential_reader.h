// SPDX-License-Identifier: Apache-2.0
// SequentialReader reads a file once from start to end, and skips unwanted
// bytes.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_SEQUENTIAL_READER_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_SEQUENTIAL_READER_H_

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

// Not thread-safe. After several sequential pieces, a separate thread
// ("sfs-pass") reads the next bytes while the caller processes these. Pages
// that were read are dropped from the kernel's cache, unless the kernel can
// tell that others use them.
class SequentialReader {
 public:
  // From this many bytes on, a seek is cheaper than reading on. The kernel
  // reads ahead over smaller gaps anyway.
  static constexpr uint64_t kWorthSkipping = uint64_t{2} << 20;

  // `fd` belongs to the caller and stays open while the reader is used. `size`
  // is that of the file.
  SequentialReader(int fd, uint64_t size);

  // The next bytes, at most 4 MiB. They are valid until the next call.
  // REQUIRES: at() < size. Blocks on the file. Errors: those of ReadAt; those
  // of EndsEarly if the file ends before its size.
  absl::StatusOr<absl::string_view> Next();
  // Skips the next bytes. REQUIRES: at() + bytes <= size.
  void Skip(uint64_t bytes);

  uint64_t at() const { return at_; }  // next byte of the file

 private:
  // `count` bytes from `at` on. Errors: as for Next.
  absl::Status Read(uint64_t at, uint64_t count, char* to) const;
  void FetchNext();
  // The result of FetchNext, in next_.
  absl::Status WaitForNext();

  // Constant after construction.
  const int fd_;
  const uint64_t size_;
  // Used by the calling thread, except next_ while it is fetched.
  std::vector<char> buffer_;
  std::vector<char> next_;
  // next_ is being fetched, or was and nobody waited for it.
  bool fetches_ = false;
  uint64_t at_ = 0;
  // How much to read at once. Little after bytes were skipped, because that may
  // happen again soon; then more and more.
  uint64_t piece_;

  Mutex mu_;
  CondVar fetched_;
  absl::optional<absl::Status> next_status_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Worker> worker_;  // last member: it uses the others
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_SEQUENTIAL_READER_H_
