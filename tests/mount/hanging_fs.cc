// SPDX-License-Identifier: Apache-2.0
// A filesystem that shows a directory, and that tests can make hang as a server
// does that is gone:
//   hanging_fs DIRECTORY MOUNTPOINT SWITCHES [SECONDS]
//
// The kernel trusts what it knows of a file for so many seconds, 0 by default.
// While SWITCHES/read exists, reads of files whose name begins with "hang" are
// not answered; while SWITCHES/list exists, listings are not; while
// SWITCHES/flush exists, closes are not; while SWITCHES/statfs exists, nobody
// is told how much room there is. As with NFS, who is killed waits no longer.
// While SWITCHES/slow exists, attributes take two milliseconds; while
// SWITCHES/lists exists, access control lists of files whose name begins with
// "hang" are not told; while SWITCHES/no_lists exists, access control lists
// cannot be read; while SWITCHES/renumber exists, files have other numbers each
// time. While SWITCHES/long exists, the file "cached" also has names of 256 and
// 300 bytes.
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kInterrupt = SIGUSR1;

struct Roots {
  std::string directory;
  std::string switches;
  double trusted = 0;  // seconds
};

const Roots& Here() {
  return *static_cast<Roots*>(fuse_get_context()->private_data);
}

std::string Path(const char* path) {
  std::string real = Here().directory + path;
  const size_t slash = real.rfind('/');
  if (real.size() - slash - 1 > 255)
    real.replace(slash + 1, real.npos, "cached");
  return real;
}

bool IsOn(const char* name) {
  return access((Here().switches + "/" + name).c_str(), F_OK) == 0;
}

// 0, or what is to be answered.
int HangWhile(const char* name) {
  while (IsOn(name)) {
    if (fuse_interrupted() != 0) return -EINTR;
    usleep(5000);
  }
  return 0;
}

bool MayHang(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != nullptr && strncmp(slash + 1, "hang", 4) == 0;
}

int Result(int64_t result) {
  return result < 0 ? -errno : static_cast<int>(result);
}

int GetAttr(const char* path, struct stat* st, fuse_file_info*) {
  if (IsOn("slow")) usleep(2000);
  const int result = Result(lstat(Path(path).c_str(), st));
  static std::atomic<ino_t> times{0};
  if (IsOn("renumber")) st->st_ino += ++times << 32;
  return result;
}

int GetXattr(const char* path, const char*, char*, size_t) {
  if (MayHang(path)) {
    if (int hung = HangWhile("lists")) return hung;
  }
  return IsOn("no_lists") ? -EIO : -ENODATA;
}

int ReadLink(const char* path, char* target, size_t size) {
  const ssize_t length = readlink(Path(path).c_str(), target, size - 1);
  if (length < 0) return -errno;
  target[length] = '\0';
  return 0;
}

int Open(const char* path, fuse_file_info* info) {
  const int fd = open(Path(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  info->fh = static_cast<uint64_t>(fd);
  return 0;
}

int Read(const char* path, char* out, size_t size, off_t offset,
         fuse_file_info* info) {
  if (MayHang(path)) {
    if (int hung = HangWhile("read")) return hung;
  }
  return Result(pread(static_cast<int>(info->fh), out, size, offset));
}

int Flush(const char*, fuse_file_info*) { return HangWhile("flush"); }

int Release(const char*, fuse_file_info* info) {
  return Result(close(static_cast<int>(info->fh)));
}

int StatFs(const char* path, struct statvfs* st) {
  if (int hung = HangWhile("statfs")) return hung;
  return Result(statvfs(Path(path).c_str(), st));
}

int ReadDir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t,
            fuse_file_info*, fuse_readdir_flags) {
  if (int hung = HangWhile("list")) return hung;
  DIR* const dir = opendir(Path(path).c_str());
  if (dir == nullptr) return -errno;
  while (const dirent* entry = readdir(dir)) {
    fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags(0));
  }
  closedir(dir);
  for (const size_t bytes : {256, 300}) {
    if (!IsOn("long")) break;
    const std::string name(bytes, 'l');
    fill(buffer, name.c_str(), nullptr, 0, fuse_fill_dir_flags(0));
  }
  return 0;
}

void* Init(fuse_conn_info* connection, fuse_config* config) {
  // What hangs is not to use up what the kernel has for all reads.
  connection->max_background = 4096;
  config->use_ino = 1;
  // Without this libfuse 3.17 takes no interrupts, and who is killed waits on.
  config->intr = 1;
  config->intr_signal = kInterrupt;
  auto* const roots = static_cast<Roots*>(fuse_get_context()->private_data);
  config->entry_timeout = config->attr_timeout = roots->trusted;
  return roots;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    fprintf(stderr,
            "usage: hanging_fs DIRECTORY MOUNTPOINT SWITCHES [SECONDS]\n");
    return 2;
  }
  Roots roots{argv[1], argv[3], argc > 4 ? atof(argv[4]) : 0};
  fuse_operations calls = {};
  calls.getattr = GetAttr;
  calls.getxattr = GetXattr;
  calls.readlink = ReadLink;
  calls.open = Open;
  calls.read = Read;
  calls.flush = Flush;
  calls.release = Release;
  calls.statfs = StatFs;
  calls.readdir = ReadDir;
  calls.init = Init;
  // libfuse 3.14 sends the signal without a handler if `intr` is set in Init.
  signal(kInterrupt, [](int) {});
  // What hangs keeps a thread each.
  const char* words[] = {"hanging_fs", argv[2], "-f", "-o",
                         "max_threads=1000,allow_other"};
  return fuse_main(5, const_cast<char**>(words), &calls, &roots);
}
