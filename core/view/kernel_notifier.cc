// SPDX-License-Identifier: Apache-2.0
#include "core/view/kernel_notifier.h"

namespace shufflefs {

void KernelNotifier::Tell(bool were_fixed, uint64_t begun) {
  calls_.rebound(were_fixed);
  // Another thread may have told the kernel of a later binding meanwhile.
  uint64_t told = told_;
  while (told < begun && !told_.compare_exchange_weak(told, begun)) {
  }
  Settle();
}

}  // namespace shufflefs
