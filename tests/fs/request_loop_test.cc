// SPDX-License-Identifier: Apache-2.0
// Requests that wait, without a mount: the test is the kernel.
#include "fs/fuse/request_loop.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

// Requests that have told the loop that they wait, until somebody lets them go.
class Waiting {
 public:
  void Wait() {
    MutexLock lock(mu_);
    ++waiting_;
    changed_.SignalAll();
    while (!released_) changed_.Wait(mu_);
  }
  void AwaitFor(size_t count) {
    MutexLock lock(mu_);
    while (waiting_ < count) changed_.Wait(mu_);
  }
  void Release() {
    MutexLock lock(mu_);
    released_ = true;
    changed_.SignalAll();
  }

 private:
  CondVar changed_;
  Mutex mu_;
  size_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  bool released_ ABSL_GUARDED_BY(mu_) = false;
};

struct Served {
  Waiting waiting;
  RequestLoop* loop = nullptr;
};

void Lookup(fuse_req_t req, fuse_ino_t /*parent*/, const char* /*name*/) {
  auto* served = static_cast<Served*>(fuse_req_userdata(req));
  served->loop->LetOthersServe();
  served->waiting.Wait();
  fuse_reply_err(req, ENOENT);
}

// Of this process.
size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

class RequestLoopTest : public ::testing::Test {
 protected:
  RequestLoopTest() {
    std::array<int, 2> ends{};
    // As with the device, each read gets one request.
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    kernel_ = UniqueFd(ends[0]);
    std::string name = "request_loop_test";
    std::array<char*, 1> argv{name.data()};
    fuse_args args = FUSE_ARGS_INIT(1, argv.data());
    fuse_lowlevel_ops ops{};
    ops.lookup = Lookup;
    session_ = fuse_session_new(&args, &ops, sizeof(ops), &served_);
    fuse_opt_free_args(&args);
    const std::string device = "/dev/fd/" + std::to_string(ends[1]);
    EXPECT_EQ(fuse_session_mount(session_, device.c_str()), 0);
  }
  ~RequestLoopTest() override {
    loop_->Stop();
    runs_.join();
    fuse_session_destroy(session_);  // closes its end
  }

  void Run(size_t max_threads, size_t most_threads) {
    RequestLoop::Options options;
    options.session = session_;
    options.answers_quickly = [] { return false; };
    options.max_threads = max_threads;
    options.most_threads = most_threads;
    loop_ = std::make_unique<RequestLoop>(std::move(options));
    served_.loop = loop_.get();
    runs_ = std::jthread([this] { EXPECT_TRUE(loop_->Run().ok()); });
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = FUSE_KERNEL_MINOR_VERSION;
    Send(FUSE_INIT, {reinterpret_cast<const char*>(&init), sizeof(init)});
    Receive();
  }
  void Send(uint32_t opcode, const std::string& body) {
    fuse_in_header header{};
    header.len = static_cast<uint32_t>(sizeof(header) + body.size());
    header.opcode = opcode;
    header.unique = ++sent_;
    header.nodeid = FUSE_ROOT_ID;
    std::string request(reinterpret_cast<const char*>(&header), sizeof(header));
    request += body;
    ASSERT_EQ(send(kernel_.get(), request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
  }
  void Receive() {
    std::array<char, 4096> answer{};
    ASSERT_GT(recv(kernel_.get(), answer.data(), answer.size(), 0), 0);
  }
  void LookUp(size_t times) {
    for (size_t i = 0; i < times; ++i) Send(FUSE_LOOKUP, std::string("a\0", 2));
  }

  Served served_;
  UniqueFd kernel_;
  fuse_session* session_ = nullptr;
  std::unique_ptr<RequestLoop> loop_;
  std::jthread runs_;
  uint64_t sent_ = 0;
};

TEST_F(RequestLoopTest, RequestsThatWaitTakeABoundedNumberOfThreads) {
  Run(2, 6);
  const size_t before = Threads();  // with two that serve
  LookUp(20);
  served_.waiting.AwaitFor(6);
  EXPECT_EQ(Threads(), before + 4);
  served_.waiting.Release();
  for (int i = 0; i < 20; ++i) Receive();
}

TEST_F(RequestLoopTest, ThreadsThatWereStartedForThemEnd) {
  Run(2, 100);
  const size_t before = Threads();
  LookUp(20);
  served_.waiting.AwaitFor(20);
  EXPECT_GE(Threads(), before + 19) << "all wait, and one leads";
  served_.waiting.Release();
  for (int i = 0; i < 20; ++i) Receive();
  while (Threads() > before) std::this_thread::yield();
}

}  // namespace
}  // namespace shufflefs
