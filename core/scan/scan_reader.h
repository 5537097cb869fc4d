// SPDX-License-Identifier: Apache-2.0
// Reads one directory of the source: the names, batch by batch, and what stat
// says of them. Internal to the scan, which gives it the work and the threads.
#ifndef SHUFFLEFS_CORE_SCAN_SCAN_READER_H_
#define SHUFFLEFS_CORE_SCAN_SCAN_READER_H_

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/catalogue/credentials.h"
#include "core/scan/scan_tree.h"

namespace shufflefs {

// Gives equal attributes the same number. Thread-safe.
class ClassTable {
 public:
  using Class = CatalogueTables::AttributeClass;

  // `reader` outlives the table.
  explicit ClassTable(const Credentials& reader) : reader_(reader) {}

  // `mode`: within the access control list. `path` relative to `dir` is what
  // was looked at ("" = `dir`): the first of a device is asked for its file
  // system.
  uint32_t Intern(const struct stat& st, mode_t mode, int dir, const char* path)
      ABSL_LOCKS_EXCLUDED(mu_);
  // What was interned, by number. Call once, at the end.
  std::vector<Class> Take() ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<CatalogueTables::Device> TakeDevices() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Hash {
    size_t operator()(const Class& c) const {
      return absl::HashOf(c.mode, c.source_mode, c.uid, c.gid, c.nlink, c.rdev,
                          c.device);
    }
  };
  bool KnowsDevice(dev_t device) ABSL_LOCKS_EXCLUDED(mu_);

  const Credentials& reader_;

  Mutex mu_;
  std::vector<Class> classes_ ABSL_GUARDED_BY(mu_);
  std::vector<CatalogueTables::Device> device_rows_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<Class, uint32_t, Hash> numbers_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<dev_t, uint32_t> devices_ ABSL_GUARDED_BY(mu_);
};

// A directory while it is being read. Shared by the thread that lists it and
// those that stat its batches; the last of them to let go of it sorts it.
struct OpenDir {
  ScannedDir* dir = nullptr;
  UniqueFd fd;
  std::atomic<uint32_t> holders{1};
  std::atomic<bool> refused{false};  // no search permission
  Mutex mu;                          // guards dir->children
};

// Lists `open`. `skip` is a name to leave out, "" = none. `full` is called
// for each batch that is full and has another behind it; the last one is left
// to the caller (dir->batches.back(), if there is any). `stopping` ends it
// early. Returns false when the directory could not be read to its end.
bool ListNames(const OpenDir& open, const std::string& skip,
               const std::function<void(ScannedBatch* batch)>& full,
               const std::function<bool()>& stopping);

// What is shared by all batches of a scan; what is referred to outlives them.
struct BatchRules {
  ClassTable& classes;
  // Directories of which it is true are left out.
  const std::function<bool(const struct stat&)>& skip;
  bool reads_lists = false;  // access control lists
};

// Stats the entries of a batch. Several threads may work on other batches of
// the same directory.
class BatchStat {
 public:
  // What was found on the way. Names are of entries in the batch's directory.
  struct Findings {
    std::vector<ScannedDir*> dirs;    // to be read next
    std::vector<ScannedDir*> loops;   // the same directory as one above
    std::vector<std::string> failed;  // stat gave an error
  };

  BatchStat(OpenDir& open, ScannedBatch& batch, const BatchRules& rules)
      : open_(open), batch_(batch), rules_(rules) {}

  Findings Run();

 private:
  void StatEntry(uint32_t index);
  void AddChild(uint32_t index, const struct stat& st);
  uint32_t ClassOf(const struct stat& st, mode_t mode, const char* name);

  OpenDir& open_;
  ScannedBatch& batch_;
  const BatchRules rules_;
  Findings findings_;
  struct stat last_ = {};
  mode_t last_mode_ = 0;
  uint32_t last_class_ = ScannedEntry::kDropped;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_READER_H_
