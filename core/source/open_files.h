// SPDX-License-Identifier: Apache-2.0
// OpenFiles keeps descriptors open between the reads of a file of which many
// pieces are read. Opening the file each time takes longer than reading a few
// KiB.
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
  bool direct = false;  // bypasses the page cache: O_DIRECT is set
  bool kept = false;    // the page cache keeps the data until told
  uint64_t device = 0;
  uint64_t inode = 0;
  FileSystemTraits traits;
};

struct OpenFile {
  UniqueFd fd;
  ReadMode mode;
};

// Thread-safe. Closes the least recently used file once nobody reads it.
class OpenFiles {
 public:
  static constexpr size_t kMost = 64;

  using Close = std::function<void(UniqueFd)>;

  // Keeps at most `most` files besides those in use. `close`, if given, closes
  // a descriptor, on the thread that released it last.
  explicit OpenFiles(size_t most, Close close = nullptr)
      : most_(most), close_(std::move(close)) {}

  // Returns null if the file is not open.
  std::shared_ptr<const OpenFile> Find(const std::string& path);
  // Does nothing if another file of the path is kept. Returns the file that is
  // not kept, or not any more; who lets go of it last closes it.
  std::shared_ptr<const OpenFile> Keep(const std::string& path, OpenFile file);
  // The path leads to another file now, or the file cannot be read. The next
  // read opens it anew.
  void Drop(const std::string& path);

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const OpenFile>>;

  std::shared_ptr<const OpenFile> Owned(OpenFile file) const;

  // Constant after construction.
  const size_t most_;
  const Close close_;

  Mutex mu_;
  std::list<Entry> recent_ ABSL_GUARDED_BY(mu_);  // most recently used first
  absl::flat_hash_map<std::string, std::list<Entry>::iterator> by_path_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SOURCE_OPEN_FILES_H_
