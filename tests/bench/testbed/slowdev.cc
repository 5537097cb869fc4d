// SPDX-License-Identifier: Apache-2.0
// slowdev: shows an image file as MOUNTPOINT/disk, whose reads take as long as
// those of a modelled device. Meant to be the backing file of a loop device in
// direct-io mode: a real file system on it then has real request times for
// every user, in whatever process or group. Writes are not slowed down.
// MOUNTPOINT/stats tells in text what was asked for. Stays in the foreground
// until it is unmounted. Root only; see README.md.
//
// With --simulate it serves nothing: it says how long reads would take.
#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "tests/bench/testbed/image_server.h"
#include "tests/bench/testbed/simulated_reads.h"

namespace shufflefs {
namespace {

constexpr fuse_ino_t kDisk = 2;
constexpr fuse_ino_t kStats = 3;
constexpr double kForever = 86400;  // seconds

struct Options {
  std::string image;
  std::string mountpoint;
  std::string model;
  double megabytes_per_second = 0;
  int64_t latency_us = 0;
  int64_t jitter_us = 0;
  size_t parallel = 64;
  int64_t seek_min_us = 0;
  int64_t seek_max_us = 0;
  int64_t rotation_us = 0;
  uint64_t read_through = 256 << 10;
  size_t queue = 32;
  size_t simulate = 0;  // reads at a time; 0: serves
  uint64_t bytes = 0;   // of the device that is simulated
};

std::unique_ptr<DeviceModel> MakeModel(const Options& options, uint64_t size) {
  using std::chrono::microseconds;
  const double speed = options.megabytes_per_second * 1e6;
  if (options.model == "network") {
    return std::make_unique<NetworkModel>(
        NetworkOptions{.bytes_per_second = speed,
                       .latency = microseconds(options.latency_us),
                       .jitter = microseconds(options.jitter_us),
                       .parallel = options.parallel});
  }
  return std::make_unique<DiskModel>(
      DiskOptions{.bytes = size,
                  .bytes_per_second = speed,
                  .seek_min = microseconds(options.seek_min_us),
                  .seek_max = microseconds(options.seek_max_us),
                  .rotation = microseconds(options.rotation_us),
                  .read_through = options.read_through,
                  .queue = options.queue});
}

// What the callbacks need, the user data of the session. One thread receives
// requests, so only that thread touches `write_buffer`.
struct Device {
  int image;
  uint64_t size;
  ImageServer* server;
  char* write_buffer;
};

Device& Of(fuse_req_t request) {
  return *static_cast<Device*>(fuse_req_userdata(request));
}

std::string StatsText(const Device& device) {
  const DeviceCounts counts = device.server->counts();
  const double busy = std::chrono::duration<double>(counts.busy).count();
  return absl::StrCat("reads ", counts.requests, "\nread_bytes ", counts.bytes,
                      "\nseeks ", counts.seeks, "\nbusy_seconds ", busy, "\n");
}

struct stat Attributes(const Device& device, fuse_ino_t ino) {
  struct stat st = {};
  st.st_ino = ino;
  st.st_nlink = ino == FUSE_ROOT_ID ? 2 : 1;
  st.st_mode = ino == FUSE_ROOT_ID ? S_IFDIR | 0700
               : ino == kDisk      ? S_IFREG | 0600
                                   : S_IFREG | 0400;
  if (ino == kDisk) {
    st.st_size = static_cast<off_t>(device.size);
    st.st_blocks = static_cast<blkcnt_t>(device.size / 512);
  }
  return st;
}

void Init(void*, fuse_conn_info* connection) {
  connection->max_read = ImageServer::kMaxRead;
  connection->max_write = ImageServer::kMaxRead;
  connection->max_readahead = 0;
  connection->max_background = 256;
  connection->congestion_threshold = 250;
  connection->want |= connection->capable & FUSE_CAP_ASYNC_DIO;
}

void Lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  fuse_entry_param entry = {};
  if (std::strcmp(name, "disk") == 0) entry.ino = kDisk;
  if (std::strcmp(name, "stats") == 0) entry.ino = kStats;
  if (entry.ino == 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  entry.attr_timeout = kForever;
  entry.entry_timeout = kForever;
  entry.attr = Attributes(Of(request), entry.ino);
  fuse_reply_entry(request, &entry);
}

void GetAttr(fuse_req_t request, fuse_ino_t ino, fuse_file_info*) {
  const struct stat st = Attributes(Of(request), ino);
  fuse_reply_attr(request, &st, kForever);
}

void Open(fuse_req_t request, fuse_ino_t ino, fuse_file_info* file) {
  if (ino == FUSE_ROOT_ID) {
    fuse_reply_err(request, EISDIR);
    return;
  }
  file->direct_io = ino == kStats;  // its length is not known before
  file->noflush = 1;
  fuse_reply_open(request, file);
}

void Read(fuse_req_t request, fuse_ino_t ino, size_t length, off_t offset,
          fuse_file_info*) {
  Device& device = Of(request);
  if (ino == kStats) {
    const std::string text = StatsText(device);
    const size_t from = std::min<size_t>(offset, text.size());
    fuse_reply_buf(request, text.data() + from,
                   std::min(length, text.size() - from));
    return;
  }
  device.server->Read(offset, length,
                      [request](int error, absl::Span<const char> bytes) {
                        if (error != 0) {
                          fuse_reply_err(request, error);
                        } else {
                          fuse_reply_buf(request, bytes.data(), bytes.size());
                        }
                      });
}

void Write(fuse_req_t request, fuse_ino_t, const char* bytes, size_t length,
           off_t offset, fuse_file_info*) {
  Device& device = Of(request);
  // O_DIRECT wants aligned memory, which FUSE's is not.
  std::memcpy(device.write_buffer, bytes, length);
  const ssize_t wrote =
      pwrite(device.image, device.write_buffer, length, offset);
  if (wrote < 0) {
    fuse_reply_err(request, errno);
  } else {
    fuse_reply_write(request, wrote);
  }
}

void Fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  const int error = fdatasync(Of(request).image) == 0 ? 0 : errno;
  fuse_reply_err(request, error);
}

int Fail(const std::string& what) {
  std::fprintf(stderr, "slowdev: %s: %s\n", what.c_str(), std::strerror(errno));
  return 1;
}

int Serve(const Options& options, Device* device) {
  fuse_lowlevel_ops ops = {};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.getattr = GetAttr;
  ops.open = Open;
  ops.read = Read;
  ops.write = Write;
  ops.fsync = Fsync;
  std::string name = "slowdev";
  std::string dash_o = "-o";
  std::string mount_options = absl::StrCat(
      "fsname=slowdev,subtype=slowdev,max_read=", ImageServer::kMaxRead);
  char* argv[] = {name.data(), dash_o.data(), mount_options.data()};
  fuse_args args = FUSE_ARGS_INIT(3, argv);
  fuse_session* session = fuse_session_new(&args, &ops, sizeof ops, device);
  if (session == nullptr) return 1;
  if (fuse_session_mount(session, options.mountpoint.c_str()) != 0) {
    fuse_session_destroy(session);
    return 1;
  }
  const int result = fuse_session_loop(session);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return result == 0 ? 0 : 1;
}

int Run(const Options& options) {
  const UniqueFd image(
      open(options.image.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (!image.valid()) return Fail(options.image);
  const off_t size = lseek(image.get(), 0, SEEK_END);
  if (size <= 0) return Fail(options.image + ": its size");
  // Sleeps of a few microseconds more or less are part of what is measured.
  if (prctl(PR_SET_TIMERSLACK, 1000) != 0) return Fail("timer slack");
  // This process stands below a block device: it must not wait for memory
  // that only a write to that device would free. (Where these three are
  // refused, figures are a little worse; the benchmarks only read.)
  prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
  // A device does not wait for a processor that is busy with its users.
  const sched_param priority = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &priority);
  mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
  ImageServer server(image.get(), MakeModel(options, size));
  char* buffer = static_cast<char*>(
      std::aligned_alloc(ImageServer::kAlignment, ImageServer::kMaxRead));
  Device device = {.image = image.get(),
                   .size = static_cast<uint64_t>(size),
                   .server = &server,
                   .write_buffer = buffer};
  const int result = Serve(options, &device);
  std::free(buffer);
  return result;
}

int Simulate(const Options& options) {
  std::vector<DeviceRequest> reads;
  for (DeviceRequest read; std::cin >> read.offset >> read.length;) {
    reads.push_back(read);
  }
  const std::unique_ptr<DeviceModel> model = MakeModel(options, options.bytes);
  const std::chrono::duration<double> took =
      TimeOfReads(*model, reads, options.simulate);
  std::printf("%.6f\n", took.count());
  return 0;
}

void Declare(CLI::App& app, Options& options) {
  auto* const image = app.add_option("IMAGE", options.image, "the image file");
  auto* const mountpoint =
      app.add_option("MOUNTPOINT", options.mountpoint, "a directory");
  auto* const bytes =
      app.add_option("--bytes", options.bytes, "of the simulated device")
          ->check(CLI::PositiveNumber);
  auto* const simulate =
      app.add_option("--simulate", options.simulate,
                     "print the seconds that the reads on the standard input "
                     "take, lines of `offset length`, so many at a time")
          ->check(CLI::Range(1, 1024))
          ->needs(bytes)
          ->excludes(image);
  app.callback([mountpoint, simulate] {
    if (simulate->count() + mountpoint->count() == 0) {
      throw CLI::RequiredError("IMAGE MOUNTPOINT");
    }
  });
  app.add_option("--model", options.model, "disk or network")
      ->required()
      ->check(CLI::IsMember({"disk", "network"}));
  app.add_option("--mb-per-second", options.megabytes_per_second,
                 "of a sequential read, or of the link")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--latency-us", options.latency_us, "network: of a request");
  app.add_option("--jitter-us", options.jitter_us,
                 "network: at most this is added to it");
  app.add_option("--parallel", options.parallel, "network: requests at once")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seek-min-us", options.seek_min_us, "disk: shortest seek");
  app.add_option("--seek-max-us", options.seek_max_us, "disk: longest seek");
  app.add_option("--rotation-us", options.rotation_us, "disk: one turn");
  app.add_option("--read-through", options.read_through,
                 "disk: bytes ahead that may be read instead of a seek");
  app.add_option("--queue", options.queue,
                 "disk: waiting requests it chooses from")
      ->check(CLI::Range(1, 1024));
}

}  // namespace
}  // namespace shufflefs

int main(int argc, char** argv) {
  shufflefs::Options options;
  CLI::App app("slowdev: an image file with the timing of a device");
  shufflefs::Declare(app, options);
  CLI11_PARSE(app, argc, argv);
  return options.simulate > 0 ? shufflefs::Simulate(options)
                              : shufflefs::Run(options);
}
