// SPDX-License-Identifier: Apache-2.0
#include "core/pool/memory/buffer_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// A policy that replaces another gets its floors even if the other uses the
// whole pool. Until the other has gone, these lie beyond the pool.
uint64_t RegionBytes(uint64_t capacity) {
  return capacity + capacity / 4 + (uint64_t{64} << 20);
}

// So that a share that finds nothing does not keep a thread busy.
constexpr std::chrono::milliseconds kBetweenRequests(2);

uint64_t Excess(uint64_t value, uint64_t bound) {
  return value > bound ? value - bound : 0;
}

}  // namespace

// The share and its blocks keep it.
class BufferPool::Account : public BlockOwner {
 public:
  Account(std::shared_ptr<BufferPool> pool, State* state)
      : pool(std::move(pool)), state(*state) {}
  ~Account() override { pool->Forget(state); }
  void Freed(uint64_t bytes) override { pool->Freed(state, bytes); }

  const std::shared_ptr<BufferPool> pool;
  State& state;
};

std::shared_ptr<BufferPool> BufferPool::Make(const Options& options) {
  return std::shared_ptr<BufferPool>(new BufferPool(options));
}

BufferPool::BufferPool(const Options& options)
    : capacity_(std::max(options.bytes / Arena::kPage, uint64_t{1}) *
                Arena::kPage),
      active_for_(options.active_for) {}

BufferPool::~BufferPool() { Stop(); }

void BufferPool::Stop() {
  std::unique_ptr<Worker> worker;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    worker = std::move(worker_);
  }
  worker.reset();  // waits, without the lock
}

absl::StatusOr<std::unique_ptr<PoolShare>> BufferPool::Open(
    ShareOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->options.guarantee = Arena::Footprint(state->options.guarantee);
  state->options.floor = Arena::Footprint(state->options.floor);
  MutexLock lock(mu_);
  uint64_t kept = state->options.floor;
  for (const auto& other : states_) kept += other->kept();
  if (kept > RegionBytes(capacity_)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "memory: view '", state->options.name, "' needs ", state->options.floor,
        " bytes that are taken; give more memory, or try ", "again"));
  }
  if (arena_ == nullptr) {
    ASSIGN_OR_RETURN(arena_, Arena::Make(RegionBytes(capacity_)));
  }
  // Now, when a missing thread is an error of the caller. Later a request would
  // fail, or the daemon.
  if (!states_.empty() && worker_ == nullptr && !stopped_) {
    worker_ = std::make_unique<Worker>("sfs-pool", 1);
  }
  auto account = std::make_shared<Account>(shared_from_this(), state.get());
  states_.push_back(std::move(state));
  // Nobody would be asked for a floor, because it is always there.
  AskFor(Excess(kept, capacity_));
  return std::unique_ptr<PoolShare>(new PoolShare(std::move(account)));
}

uint64_t BufferPool::Limit(const State& state, Clock::time_point now) const {
  uint64_t kept = 0;
  uint64_t wanted = 0;
  for (const auto& other : states_) {
    if (other.get() == &state) continue;
    kept += other->kept();
    wanted += other->wanted(now);
  }
  const uint64_t free = Excess(capacity_, kept);
  const uint64_t lent = Excess(capacity_, wanted);
  const uint64_t limit =
      std::max(std::min(state.options.guarantee, free), lent);
  return std::max(std::min(limit, state.options.most), state.options.floor);
}

uint64_t BufferPool::Room(State& state) {
  const Clock::time_point now = Clock::now();
  MutexLock lock(mu_);
  state.active_until = now + active_for_;
  const uint64_t limit = Limit(state, now);
  if (limit < state.guaranteed()) Want(state, now);
  return Excess(limit, state.used);
}

std::unique_ptr<MemoryBlock> BufferPool::Allocate(
    const std::shared_ptr<Account>& account, uint64_t bytes) {
  const uint64_t takes = Arena::Footprint(bytes);
  const Clock::time_point now = Clock::now();
  State& state = account->state;
  MutexLock lock(mu_);
  state.active_until = now + active_for_;
  if (state.used + takes > Limit(state, now)) {
    if (state.used + takes <= state.guaranteed()) Want(state, now);
    return nullptr;
  }
  // There are such pages: a block frees its pages before its account hears it.
  std::unique_ptr<MemoryBlock> block = arena_->Allocate(takes);
  state.used += takes;
  block->SetOwner(account);
  return block;
}

void BufferPool::Freed(State& state, uint64_t bytes) {
  MutexLock lock(mu_);
  state.used -= bytes;
}

void BufferPool::Close(State& state) {
  std::function<void(uint64_t)> give_back;  // they go without the lock
  std::function<void()> has_room;
  MutexLock lock(mu_);
  state.options.guarantee = 0;
  state.options.floor = 0;
  state.options.most = 0;
  give_back.swap(state.give_back);
  has_room.swap(state.has_room);
}

void BufferPool::Forget(const State& state) {
  MutexLock lock(mu_);
  std::erase_if(states_,
                [&](const auto& each) { return each.get() == &state; });
}

void BufferPool::Want(State& state, Clock::time_point now) {
  state.wants = true;
  AskFor(Excess(state.guaranteed(), Limit(state, now)));
}

void BufferPool::AskFor(uint64_t bytes) {
  if (worker_ == nullptr) return;  // there is no other share, or it stops
  if (stopped_ || short_of_ > 0 || bytes == 0) return;
  short_of_ = bytes;
  worker_->Post(
      [this](const absl::Status& turn) {
        if (turn.ok()) HaveGivenBack();
      },
      /*urgent=*/false);
}

std::vector<BufferPool::Request> BufferPool::WhomToAsk() {
  const Clock::time_point now = Clock::now();
  std::vector<Request> asked;
  uint64_t missing = std::exchange(short_of_, 0);
  // First those that use more than they are guaranteed. Only if guarantees
  // exceed the pool are others asked, and of these only who is idle.
  for (const bool idle : {false, true}) {
    for (const auto& each : states_) {
      if (each->give_back == nullptr || (idle && now < each->active_until)) {
        continue;
      }
      const uint64_t guaranteed = each->guaranteed();
      const uint64_t has =
          idle ? Excess(std::min(each->used, guaranteed), each->options.floor)
               : Excess(each->used, guaranteed);
      const uint64_t bytes = std::min(has, missing);
      if (bytes == 0) continue;
      missing -= bytes;
      asked.push_back({each->give_back, bytes});
    }
  }
  return asked;
}

std::vector<std::function<void()>> BufferPool::WhoWants() {
  std::vector<std::function<void()>> who;
  for (const auto& each : states_) {
    if (!std::exchange(each->wants, false) || each->has_room == nullptr) {
      continue;
    }
    who.push_back(each->has_room);
  }
  return who;
}

void BufferPool::HaveGivenBack() {
  // Who wants something meanwhile is told by this call.
  std::this_thread::sleep_until(asked_last_ + kBetweenRequests);
  asked_last_ = Clock::now();
  std::vector<Request> asked;
  {
    MutexLock lock(mu_);
    asked = WhomToAsk();
  }
  for (const Request& request : asked) request.give_back(request.bytes);
  std::vector<std::function<void()>> who;
  {
    MutexLock lock(mu_);
    who = WhoWants();
  }
  for (const std::function<void()>& has_room : who) has_room();
}

uint64_t BufferPool::used() const {
  MutexLock lock(mu_);
  return arena_ == nullptr ? 0 : arena_->used();
}

PoolShare::PoolShare(std::shared_ptr<BufferPool::Account> account)
    : account_(std::move(account)) {}

PoolShare::~PoolShare() { account_->pool->Close(account_->state); }

std::unique_ptr<MemoryBlock> PoolShare::Allocate(uint64_t bytes) {
  return account_->pool->Allocate(account_, bytes);
}

uint64_t PoolShare::Room() { return account_->pool->Room(account_->state); }

uint64_t PoolShare::guarantee() const {
  MutexLock lock(account_->pool->mu_);
  return account_->state.options.guarantee;
}

uint64_t PoolShare::pool_capacity() const { return account_->pool->capacity(); }

uint64_t PoolShare::used() const {
  MutexLock lock(account_->pool->mu_);
  return account_->state.used;
}

void PoolShare::Follow(std::function<void(uint64_t)> give_back,
                       std::function<void()> has_room) {
  MutexLock lock(account_->pool->mu_);
  account_->state.give_back = std::move(give_back);
  account_->state.has_room = std::move(has_room);
}

}  // namespace shufflefs
