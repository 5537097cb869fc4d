// SPDX-License-Identifier: Apache-2.0
// Reads one directory of the source: the names, batch by batch, and their
// stats. Internal to the scan, which provides the work and the threads.
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
#include "absl/strings/string_view.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/catalogue/credentials.h"
#include "core/scan/scan_tree.h"

namespace shufflefs {

// Assigns the same number to equal attributes. Thread-safe.
class ClassTable {
 public:
  using Class = CatalogueTables::AttributeClass;

  // `reader` outlives the table.
  explicit ClassTable(const Credentials& reader) : reader_(reader) {}

  // `mode` is limited by the access control list. `path` is relative to `dir`
  // and names the inspected entry ("" = `dir`). The first entry of a device is
  // asked for its file system.
  uint32_t Intern(const struct stat& st, mode_t mode, int dir, const char* path)
      ABSL_LOCKS_EXCLUDED(mu_);
  // All interned classes, by number. Call it once, at the end.
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

// A directory while it is being read. The thread that lists it shares it with
// the threads that stat its batches. The last of them to release it sorts it.
struct OpenDir {
  ScannedDir* dir = nullptr;
  UniqueFd fd;
  std::atomic<uint32_t> holders{1};
  std::atomic<bool> refused{false};  // no search permission
  // Names that the catalogue cannot hold. Of the thread that lists.
  std::vector<std::string> too_long;
  Mutex mu;  // guards dir->children
};

// Adds the entries that getdents64 wrote to `listed`, except `skip`, "." and
// "..". Names over 255 bytes go to `too_long`: FUSE, exFAT and SMB have them,
// as they limit characters.
void AddListed(absl::string_view listed, const std::string& skip,
               ScannedDir& dir, std::vector<std::string>& too_long);

// Lists `open`. `skip` is a name to leave out, "" = none. Calls `full` for each
// full batch that another batch follows. The last batch is left to the caller
// (dir->batches.back(), if there is any). `stopping` ends it early. Returns
// false if the directory could not be read to its end.
bool ListNames(OpenDir& open, const std::string& skip,
               const std::function<void(ScannedBatch* batch)>& full,
               const std::function<bool()>& stopping);

// Shared by all batches of a scan. The referenced objects outlive them.
struct BatchRules {
  ClassTable& classes;
  // Directories for which it returns true are left out.
  const std::function<bool(const struct stat&)>& skip;
  // Not null: modes are as ShownModeAt. Null: as stat reports.
  const OverflowIds* shown_to_others = nullptr;
  bool estimates = false;  // as ScanOptions::exact_entries
};

// Stats the entries of a batch. Several threads may process different batches
// of one directory.
class BatchStat {
 public:
  // Names are those of entries in the batch's directory.
  struct Findings {
    std::vector<ScannedDir*> dirs;    // to be read next
    std::vector<ScannedDir*> loops;   // identical to a directory above it
    std::vector<std::string> failed;  // stat gave an error
  };

  BatchStat(OpenDir& open, ScannedBatch& batch, const BatchRules& rules)
      : open_(open), batch_(batch), rules_(rules) {}

  Findings Run();

 private:
  // The files of an extension, when attributes are estimated.
  struct Alike {
    absl::string_view extension;
    uint32_t seen = 0;
    std::vector<uint32_t> asked;  // in this period
  };

  void StatEntry(uint32_t index);
  // Returns whether the entry was taken to be like another one.
  bool Estimate(uint32_t index);
  Alike& AlikeOf(uint32_t index);
  void AddChild(uint32_t index, const struct stat& st);
  uint32_t ClassOf(const struct stat& st, mode_t mode, const char* name);

  OpenDir& open_;
  ScannedBatch& batch_;
  const BatchRules rules_;
  Findings findings_;
  std::vector<Alike> alike_;
  struct stat last_ = {};
  mode_t last_mode_ = 0;
  uint32_t last_class_ = ScannedEntry::kDropped;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SCAN_SCAN_READER_H_
