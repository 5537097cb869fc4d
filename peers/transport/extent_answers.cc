// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/extent_answers.h"

#include <utility>
#include <vector>

#include "peers/transport/wire.h"

namespace shufflefs::peers {

ExtentAnswer::ExtentAnswer(ExtentAnswers* answers, Call call)
    : answers_(answers), call_(std::move(call)) {}

void ExtentAnswer::Complete(const absl::StatusOr<PeerBytes>& bytes) {
  if (claimed_.exchange(true)) return;
  absl::Status status = bytes.status();
  if (status.ok()) {
    absl::StatusOr<grpc::ByteBuffer> answer = ToAnswer(*bytes, call_.length);
    status = answer.status();
    if (status.ok()) {
      *call_.response = *std::move(answer);
      call_.sent->fetch_add(call_.length);
    }
  }
  if (!status.ok()) call_.context->AddTrailingMetadata(kServiceKey, "1");
  Finish(ToGrpc(status));
}

void ExtentAnswer::Refuse(const absl::Status& status) {
  if (!claimed_.exchange(true)) Finish(ToGrpc(status));
}

void ExtentAnswer::OnCancel() { Refuse(absl::CancelledError()); }

void ExtentAnswer::OnDone() { answers_->Remove(this); }

std::shared_ptr<ExtentAnswer> ExtentAnswers::Begin(ExtentAnswer::Call call) {
  MutexLock lock(mu_);
  if (stopped_) return nullptr;
  auto answer = std::make_shared<ExtentAnswer>(this, std::move(call));
  answers_[answer.get()] = answer;
  return answer;
}

void ExtentAnswers::Stop() {
  std::vector<std::shared_ptr<ExtentAnswer>> owed;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (const auto& [key, answer] : answers_) owed.push_back(answer);
  }
  for (const std::shared_ptr<ExtentAnswer>& answer : owed) {
    answer->Refuse(absl::UnavailableError("the daemon stops"));
  }
}

void ExtentAnswers::Remove(ExtentAnswer* answer) {
  std::shared_ptr<ExtentAnswer> last;  // destroyed with no lock held
  MutexLock lock(mu_);
  const auto found = answers_.find(answer);
  last = std::move(found->second);
  answers_.erase(found);
}

}  // namespace shufflefs::peers
