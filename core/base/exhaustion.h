// SPDX-License-Identifier: Apache-2.0
// The C++ library throws when memory or threads run out. Work that may need
// much of either is called through OrExhausted. Then only that work fails. The
// daemon continues, or ends with one line.
#ifndef SHUFFLEFS_CORE_BASE_EXHAUSTION_H_
#define SHUFFLEFS_CORE_BASE_EXHAUSTION_H_

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace shufflefs {

// Returns what `call` returns, a Status or a StatusOr. If `call` throws,
// returns ENOMEM or the errno of starting a thread, with `what` before it.
template <typename Call>
auto OrExhausted(absl::string_view what, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return ErrnoStatus(ENOMEM, what);
  } catch (const std::length_error&) {  // more than a container can hold
    return ErrnoStatus(ENOMEM, what);
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       absl::StrCat(what, ": starting a thread"));
  }
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_EXHAUSTION_H_
