// SPDX-License-Identifier: Apache-2.0
// Reads of an image file, answered when a modelled device would have answered
// them. The image is read at once and the rest of the time is slept, so the
// speed of the disk below does not show as long as it is the faster one.
//
// Any thread may call. Read() returns at once; the answer comes from one of
// the server's own threads, of which there are as many as the model serves
// requests at a time.
#ifndef SHUFFLEFS_TESTS_BENCH_TESTBED_IMAGE_SERVER_H_
#define SHUFFLEFS_TESTS_BENCH_TESTBED_IMAGE_SERVER_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "tests/bench/testbed/device_model.h"

namespace shufflefs {

class ImageServer {
 public:
  // `error` is 0 or an errno; `bytes` live until the call returns.
  using Answer = std::function<void(int error, absl::Span<const char> bytes)>;

  // The longest Read(), and the alignment of its memory.
  static constexpr size_t kMaxRead = size_t{1} << 20;
  static constexpr size_t kAlignment = 4096;

  // `image` is an open descriptor that outlives the server; O_DIRECT is fine.
  ImageServer(int image, std::unique_ptr<DeviceModel> model);
  // Answers what is waiting still.
  ~ImageServer();

  // REQUIRES: length <= kMaxRead; both aligned if the descriptor demands it.
  void Read(uint64_t offset, size_t length, Answer answer);

  DeviceCounts counts() const;

 private:
  void Serve();

  const int image_;
  const std::unique_ptr<DeviceModel> model_ ABSL_PT_GUARDED_BY(mu_);

  mutable Mutex mu_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  // By arrival; answers_[i] belongs to waiting_[i].
  std::vector<DeviceRequest> waiting_ ABSL_GUARDED_BY(mu_);
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mu_);

  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_BENCH_TESTBED_IMAGE_SERVER_H_
