// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/catalogue_tables.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>

#include "core/catalogue/file_identity.h"

namespace shufflefs {
namespace {

// Feeds a hash in large pieces.
class Digest {
 public:
  Digest() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Digest() { XXH3_freeState(state_); }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void Add(uint64_t word) {
    words_[used_++] = word;
    if (used_ == kWords) Flush();
  }
  void AddBytes(const void* data, size_t size) {
    Flush();
    XXH3_64bits_update(state_, data, size);
  }
  uint64_t Value() {
    Flush();
    return XXH3_64bits_digest(state_);
  }

 private:
  static constexpr size_t kWords = 1024;
  void Flush() {
    XXH3_64bits_update(state_, words_, used_ * sizeof words_[0]);
    used_ = 0;
  }
  XXH3_state_t* state_;
  uint64_t words_[kWords];
  size_t used_ = 0;
};

}  // namespace

void DeriveCatalogueTables(CatalogueTables& t) {
  t.name_offset.resize(t.size.size());
  t.dir_at.clear();
  t.dir_at.reserve(t.size.size() / CatalogueTables::kEntriesAPlace + 2);
  uint64_t base = 0;
  uint32_t entry = 0;
  uint32_t last = 0;  // that has entries
  for (uint32_t d = 0; d < t.dirs.size(); ++d) {
    auto& dir = t.dirs[d];
    dir.first_entry = entry;
    dir.names_base = base;
    uint32_t offset = 0;
    for (uint32_t end = entry + dir.entry_count; entry < end; ++entry) {
      if (entry % CatalogueTables::kEntriesAPlace == 0) t.dir_at.push_back(d);
      t.name_offset[entry] = offset;
      offset += 1 + static_cast<uint8_t>(t.names[base + offset]);
    }
    base += offset;
    dir.subtree_end = d + 1;
    if (dir.entry_count > 0) last = d;
  }
  t.dir_at.push_back(last);
  for (size_t d = t.dirs.size(); d-- > 1;) {
    auto& parent = t.dirs[t.dirs[d].parent];
    parent.subtree_end = std::max(parent.subtree_end, t.dirs[d].subtree_end);
  }
}

uint64_t FingerprintOf(const CatalogueTables& t) {
  Digest digest;
  digest.Add(t.dirs.size());
  for (const auto& dir : t.dirs) {
    digest.Add(uint64_t{dir.parent} << 32 | dir.entry_count);
  }
  digest.AddBytes(t.names.data(), t.names.size());
  for (size_t i = 0; i < t.size.size(); ++i) {
    uint32_t type = t.classes[t.attr_class[i]].mode & S_IFMT;
    bool dir = type == S_IFDIR;
    digest.Add(type);
    digest.Add(t.size[i]);
    digest.Add(dir ? 0 : static_cast<uint64_t>(t.mtime_ns[i]));
  }
  return digest.Value();
}

uint64_t StateOf(const CatalogueTables& t, uint64_t fingerprint) {
  Digest digest;
  digest.Add(fingerprint);
  for (size_t i = 0; i < t.size.size(); ++i) {
    const auto& shared = t.classes[t.attr_class[i]];
    if (!S_ISREG(shared.mode)) continue;
    const CatalogueTables::Device& device = t.devices[shared.device];
    digest.Add(LastingDevice(device.number));
    digest.Add(device.inodes_last != 0 ? t.ino[i] : 0);
    digest.Add(static_cast<uint64_t>(t.ctime_ns[i]));
  }
  return digest.Value();
}

}  // namespace shufflefs
