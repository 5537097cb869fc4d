// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/owed_answers.h"

#include <utility>
#include <vector>

#include "peers/transport/answer_proof.h"
#include "peers/transport/wire.h"

namespace shufflefs::peers {

OwedAnswer::OwedAnswer(OwedAnswers* answers, Call call)
    : answers_(answers), call_(std::move(call)) {}

void OwedAnswer::Complete(const absl::StatusOr<grpc::ByteBuffer>& message,
                          uint64_t bytes) {
  if (claimed_.exchange(true)) return;
  const grpc::Status status = ToGrpc(message.status());
  if (message.ok()) {
    *call_.response = *message;
    call_.session->sent->fetch_add(bytes);
  } else {
    call_.context->AddTrailingMetadata(kServiceKey, "1");
  }
  AddAnswerProof(call_.session->key,
                 {.code = status.error_code(),
                  .by_service = !message.ok(),
                  .body = message.ok() ? call_.response : nullptr},
                 *call_.context);
  Finish(status);
}

void OwedAnswer::Refuse(const absl::Status& status) {
  if (!claimed_.exchange(true)) Finish(ToGrpc(status));
}

void OwedAnswer::OnCancel() { Refuse(absl::CancelledError()); }

void OwedAnswer::OnDone() { answers_->Remove(this); }

std::shared_ptr<OwedAnswer> OwedAnswers::Begin(OwedAnswer::Call call) {
  MutexLock lock(mu_);
  if (stopped_) return nullptr;
  auto answer = std::make_shared<OwedAnswer>(this, std::move(call));
  answers_[answer.get()] = answer;
  return answer;
}

void OwedAnswers::Stop() {
  std::vector<std::shared_ptr<OwedAnswer>> owed;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (const auto& [key, answer] : answers_) owed.push_back(answer);
  }
  for (const std::shared_ptr<OwedAnswer>& answer : owed) {
    answer->Refuse(absl::UnavailableError("the daemon stops"));
  }
}

void OwedAnswers::Remove(OwedAnswer* answer) {
  std::shared_ptr<OwedAnswer> last;  // destroyed with no lock held
  MutexLock lock(mu_);
  const auto found = answers_.find(answer);
  last = std::move(found->second);
  answers_.erase(found);
}

}  // namespace shufflefs::peers
