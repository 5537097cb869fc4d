// SPDX-License-Identifier: Apache-2.0
// Descriptors that stay open between the reads of a file of which many pieces
// are read: to open it for each takes longer than to read some KiB.
#ifndef SHUFFLEFS_CORE_SOURCE_OPEN_FILES_H_
#define SHUFFLEFS_CORE_SOURCE_OPEN_FILES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/source/file_systems.h"

namespace shufflefs {

// How a file is read.
struct ReadMode {
  bool direct = false;  // past the page cache: O_DIRECT is set
  bool kept = false;    // the page cache keeps what is read until told
  uint64_t device = 0;
  uint64_t inode = 0;
  FileSystemTraits traits;
};

struct OpenFile {
  UniqueFd fd;
  ReadMode mode;
};

// Thread-safe. Closes what was not used for longest, as soon as nobody reads
// it.
class OpenFiles {
 public:
  static constexpr size_t kMost = 64;

  using Close = std::function<void(UniqueFd)>;

  // At most so many besides those in use. `close`, if given, is what closes
  // one, by the thread that let go of it last.
  explicit OpenFiles(size_t most, Close close = nullptr)
      : most_(most), close_(std::move(close)) {}

  // Null: it is not open.
  std::shared_ptr<const OpenFile> Find(const std::string& path);
  // Does nothing where another one of the path is kept.
  void Keep(const std::string& path, OpenFile file);
  // It is another file now, or cannot be read: the next read opens it anew.
  void Drop(const std::string& path);

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const OpenFile>>;

  std::shared_ptr<const OpenFile> Owned(OpenFile file) const;

  // Constant after construction.
  const size_t most_;
  const Close close_;

  Mutex mu_;
  std::list<Entry> recent_ ABSL_GUARDED_BY(mu_);  // used last first
  absl::flat_hash_map<std::string, std::list<Entry>::iterator> by_path_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_OPEN_FILES_H_
