// SPDX-License-Identifier: Apache-2.0
// Reads whole epochs as a framework's loader does, with plain processes, and
// says how long that took and what was read. Driven by lines on its standard
// input, each answered by one line, which is `error <text>` on failure:
//
//   list ROOT                  remember the files below ROOT/<class>/
//     -> <seconds> <files>
//   epoch SEED WORKERS BATCH [RATE]
//                              open, fstat, read to the end and close each of
//                              them once, in an order that SEED shuffles; who
//                              consumes them takes RATE bytes a second, and
//                              does not make up for what it waited
//     -> <seconds> <files> <bytes> <checksum>
//   pass WORKERS BATCH         the same in the order of the names
//   sequential PATH DEPTH      read one file in pieces of 1 MiB with O_DIRECT,
//                              DEPTH of them at a time
//     -> <seconds> <bytes>
//
// Batches are dealt as PyTorch's DataLoader deals them: to the workers in
// turn, each at most two ahead of what was consumed in order. Two passes have
// the same checksum exactly if they read the same multiset of (class,
// content), whatever the names and the order.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/random/random.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shufflefs {
namespace {

constexpr size_t kPiece = size_t{1} << 20;  // bytes a read
constexpr size_t kAhead = 2;                // batches dealt to each worker

using Clock = std::chrono::steady_clock;

std::string SecondsSince(Clock::time_point start) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f",
                std::chrono::duration<double>(Clock::now() - start).count());
  return text;
}

// What a worker reports of a batch; fits into one atomic write to a pipe.
struct BatchDone {
  uint32_t batch = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  std::array<char, 512> error = {};  // empty if there was none
};
static_assert(sizeof(BatchDone) <= PIPE_BUF);

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Whole messages of type T; false at the end of the pipe.
template <typename T>
bool Receive(const UniqueFd& from, T* message) {
  return read(from.get(), message, sizeof *message) ==
         static_cast<ssize_t>(sizeof *message);
}

template <typename T>
bool Send(const UniqueFd& to, const T& message) {
  return write(to.get(), &message, sizeof message) ==
         static_cast<ssize_t>(sizeof message);
}

uint64_t Hash(const std::string& text) {
  return XXH3_64bits(text.data(), text.size());
}

// The files of one tree, in the order of one epoch, and how to read them.
class EpochFiles {
 public:
  EpochFiles(std::string root, std::vector<std::string> names, size_t batch)
      : root_(std::move(root)), names_(std::move(names)), batch_(batch) {}

  size_t batches() const { return (names_.size() + batch_ - 1) / batch_; }

  BatchDone ReadBatch(uint32_t batch) {
    BatchDone done;
    done.batch = batch;
    const size_t end = std::min(names_.size(), (batch + 1) * batch_);
    for (size_t i = batch * batch_; i < end; ++i) {
      if (const absl::Status read = ReadOne(names_[i], &done); !read.ok()) {
        const std::string text(read.message());
        std::strncpy(done.error.data(), text.c_str(), done.error.size() - 1);
        break;
      }
    }
    return done;
  }

 private:
  absl::Status ReadOne(const std::string& name, BatchDone* done) {
    const std::string path = root_ + "/" + name;
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat st;
    if (!fd.valid() || fstat(fd.get(), &st) != 0) {
      return ErrnoStatus(errno, path);
    }
    XXH3_64bits_reset(&state_);
    off_t bytes = 0;
    ssize_t got;
    while ((got = read(fd.get(), buffer_.data(), buffer_.size())) > 0) {
      XXH3_64bits_update(&state_, buffer_.data(), got);
      bytes += got;
    }
    if (got < 0) return ErrnoStatus(errno, path);
    if (bytes != st.st_size) {
      return absl::DataLossError(path + ": size and content differ");
    }
    const std::string label = std::filesystem::path(name).parent_path();
    done->checksum += Mix64(Mix64(Hash(label)) ^ XXH3_64bits_digest(&state_));
    done->bytes += bytes;
    ++done->files;
    return absl::OkStatus();
  }

  const std::string root_;
  const std::vector<std::string> names_;
  const size_t batch_;
  std::vector<char> buffer_ = std::vector<char>(kPiece);
  XXH3_state_t state_;
};

// The worker processes of one epoch.
class Workers {
 public:
  Workers() = default;
  // Closes their pipes, which ends them, and waits.
  ~Workers() {
    orders_.clear();
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }

  absl::Status Start(size_t count, EpochFiles* epoch) {
    ASSIGN_OR_RETURN(reports_, MakePipe());
    for (size_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Pipe orders, MakePipe());
      const pid_t pid = fork();
      if (pid < 0) return ErrnoStatus(errno, "fork");
      if (pid == 0) {
        // Held open here, they would keep the other workers from ending.
        orders_.clear();
        orders.write.reset();
        uint32_t batch;
        while (Receive(orders.read, &batch) &&
               Send(reports_.write, epoch->ReadBatch(batch))) {
        }
        _exit(0);
      }
      pids_.push_back(pid);
      orders_.push_back(std::move(orders.write));
    }
    reports_.write.reset();
    return absl::OkStatus();
  }

  // Deals all batches; returns the sums. `rate`: bytes a second, 0: any.
  absl::StatusOr<BatchDone> Run(size_t batches, double rate) {
    std::vector<bool> done(batches, false);
    std::vector<uint64_t> bytes(batches, 0);
    BatchDone sum;
    const size_t ahead = kAhead * orders_.size();
    size_t dealt = 0;
    for (size_t consumed = 0; consumed < batches;) {
      for (; dealt < std::min(batches, consumed + ahead); ++dealt) {
        const auto batch = static_cast<uint32_t>(dealt);
        if (!Send(orders_[dealt % orders_.size()], batch)) {
          return ErrnoStatus(errno, "a worker ended");
        }
      }
      if (done[consumed]) {
        Consume(bytes[consumed++], rate);
        continue;  // another one is dealt
      }
      ASSIGN_OR_RETURN(const BatchDone batch, NextReport());
      if (batch.error[0] != 0) return absl::DataLossError(batch.error.data());
      sum.files += batch.files;
      sum.bytes += batch.bytes;
      sum.checksum += batch.checksum;
      done[batch.batch] = true;
      bytes[batch.batch] = batch.bytes;
    }
    return sum;
  }

 private:
  void Consume(uint64_t bytes, double rate) {
    if (rate == 0) return;
    const std::chrono::duration<double> time(static_cast<double>(bytes) / rate);
    free_ = std::max(free_, Clock::now()) +
            std::chrono::duration_cast<Clock::duration>(time);
    std::this_thread::sleep_until(free_);
  }

  // Notices a worker that was killed, for want of memory say.
  absl::StatusOr<BatchDone> NextReport() const {
    pollfd reports = {
        .fd = reports_.read.get(), .events = POLLIN, .revents = 0};
    while (poll(&reports, 1, 1000) == 0) {
      for (const pid_t pid : pids_) {
        if (waitpid(pid, nullptr, WNOHANG) != 0) {
          return absl::InternalError("a worker ended");
        }
      }
    }
    BatchDone batch;
    if (!Receive(reports_.read, &batch)) {
      return absl::InternalError("all workers ended");
    }
    return batch;
  }

  Clock::time_point free_;  // when the consumer is done with what it has
  std::vector<pid_t> pids_;
  std::vector<UniqueFd> orders_;  // one for each worker
  Pipe reports_;
};

class Reader {
 public:
  absl::StatusOr<std::string> Do(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "list") return List(words);
    if (what == "epoch") return OneEpoch(words);
    if (what == "pass") return OnePass(words);
    if (what == "sequential") return Sequential(words);
    return absl::InvalidArgumentError(line);
  }

 private:
  absl::StatusOr<std::string> List(std::istringstream& words);
  absl::StatusOr<std::string> OneEpoch(std::istringstream& words);
  absl::StatusOr<std::string> OnePass(std::istringstream& words);
  absl::StatusOr<std::string> Read(std::vector<std::string> order,
                                   size_t workers, size_t batch, double rate);
  absl::StatusOr<std::string> Sequential(std::istringstream& words);

  std::string root_;
  std::vector<std::string> names_;  // relative to root_, sorted
};

absl::StatusOr<std::string> Reader::List(std::istringstream& words) {
  if (!(words >> root_)) return absl::InvalidArgumentError("list ROOT");
  const Clock::time_point start = Clock::now();
  names_.clear();
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(root_, error);
  if (error) return ErrnoStatus(error.value(), root_);
  while (entry != std::filesystem::recursive_directory_iterator()) {
    // From the listing alone, as os.walk: no file is asked for.
    if (entry->is_regular_file(error)) {
      names_.push_back(entry->path().string().substr(root_.size() + 1));
    }
    entry.increment(error);
    if (error) return ErrnoStatus(error.value(), root_);
  }
  std::sort(names_.begin(), names_.end());
  return absl::StrCat(SecondsSince(start), " ", names_.size());
}

absl::StatusOr<std::string> Reader::OneEpoch(std::istringstream& words) {
  uint64_t seed = 0;
  size_t workers = 0;
  size_t batch = 0;
  if (!(words >> seed >> workers >> batch) || workers == 0 || batch == 0) {
    return absl::InvalidArgumentError("epoch SEED WORKERS BATCH [RATE]");
  }
  double rate = 0;
  if (!(words >> rate)) rate = 0;
  std::vector<std::string> order = names_;
  Rng rng(DeriveKey(Seed(seed), Epoch(0), 0, Purpose::kTest));
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[rng.Bounded(left)]);
  }
  return Read(std::move(order), workers, batch, rate);
}

absl::StatusOr<std::string> Reader::OnePass(std::istringstream& words) {
  size_t workers = 0;
  size_t batch = 0;
  if (!(words >> workers >> batch) || workers == 0 || batch == 0) {
    return absl::InvalidArgumentError("pass WORKERS BATCH");
  }
  return Read(names_, workers, batch, 0);
}

absl::StatusOr<std::string> Reader::Read(std::vector<std::string> order,
                                         size_t workers, size_t batch,
                                         double rate) {
  EpochFiles epoch(root_, std::move(order), batch);
  const Clock::time_point start = Clock::now();
  Workers processes;
  RETURN_IF_ERROR(processes.Start(workers, &epoch));
  ASSIGN_OR_RETURN(const BatchDone sum, processes.Run(epoch.batches(), rate));
  return absl::StrCat(SecondsSince(start), " ", sum.files, " ", sum.bytes, " ",
                      sum.checksum);
}

absl::StatusOr<std::string> Reader::Sequential(std::istringstream& words) {
  std::string path;
  size_t depth = 0;
  if (!(words >> path >> depth) || depth == 0) {
    return absl::InvalidArgumentError("sequential PATH DEPTH");
  }
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> bytes = 0;
  std::atomic<int> failed = 0;
  const auto read_pieces = [&] {
    void* buffer = std::aligned_alloc(kPiece, kPiece);
    ssize_t got;
    do {
      got = pread(fd.get(), buffer, kPiece,
                  static_cast<off_t>(next.fetch_add(kPiece)));
      if (got > 0) bytes += got;
      if (got < 0) failed = errno;
    } while (got > 0);
    std::free(buffer);
  };
  const Clock::time_point start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < depth; ++i) threads.emplace_back(read_pieces);
  }
  if (failed != 0) return ErrnoStatus(failed, path);
  return absl::StrCat(SecondsSince(start), " ", bytes.load());
}

}  // namespace
}  // namespace shufflefs

int main() {
  // A worker that ended is an error of write(), not of this process.
  std::signal(SIGPIPE, SIG_IGN);
  shufflefs::Reader reader;
  std::string line;
  while (std::getline(std::cin, line)) {
    const absl::StatusOr<std::string> answer = reader.Do(line);
    if (answer.ok()) {
      std::printf("%s\n", answer->c_str());
    } else {
      std::printf("error %s\n", std::string(answer.status().message()).c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
