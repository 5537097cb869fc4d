// SPDX-License-Identifier: Apache-2.0
#include "fs/model/reply_types.h"

#include <unistd.h>

namespace shufflefs {

struct stat StatOf(const FileAttributes& attributes) {
  struct stat st = {};
  st.st_ino = attributes.ino;
  st.st_mode = attributes.mode;
  // A directory keeps its write bits. Creating in it fails with EROFS, which is
  // clearer than EACCES.
  if (attributes.kind != EntryKind::kDirectory) st.st_mode &= ~0222u;
  st.st_nlink = attributes.nlink;
  st.st_uid = attributes.uid;
  st.st_gid = attributes.gid;
  st.st_rdev = attributes.rdev;
  st.st_size = static_cast<off_t>(attributes.size);
  st.st_blocks = static_cast<blkcnt_t>(attributes.blocks);
  st.st_blksize = 4096;
  st.st_mtim.tv_sec = attributes.mtime_ns / 1000000000;
  st.st_mtim.tv_nsec = attributes.mtime_ns % 1000000000;
  if (st.st_mtim.tv_nsec < 0) {
    st.st_mtim.tv_nsec += 1000000000;
    --st.st_mtim.tv_sec;
  }
  st.st_ctim = st.st_mtim;
  st.st_atim = st.st_mtim;
  return st;
}

bool WrittenText::may_be_cut() const {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return !is_direct && offset % page != 0 && (offset + text.size()) % page == 0;
}

void SetSize(uint64_t bytes, struct stat& st) {
  if (static_cast<off_t>(bytes) == st.st_size) return;
  constexpr uint64_t kBlock = 512;  // unit of st_blocks
  st.st_size = static_cast<off_t>(bytes);
  st.st_blocks = static_cast<blkcnt_t>((bytes + kBlock - 1) / kBlock);
}

}  // namespace shufflefs
