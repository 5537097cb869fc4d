// SPDX-License-Identifier: Apache-2.0
// Where memory or threads run out, the C++ library throws. Work that may ask
// for much is called through here, so that it fails alone and the daemon goes
// on, or ends with one line.
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

// What `call` returns, a Status or a StatusOr; ENOMEM, or the errno of starting
// a thread, where it threw, with `what` before it.
template <typename Call>
auto OrExhausted(absl::string_view what, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return ErrnoStatus(ENOMEM, what);
  } catch (const std::length_error&) {  // more than there can be
    return ErrnoStatus(ENOMEM, what);
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(),
                       absl::StrCat(what, ": starting a thread"));
  }
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_EXHAUSTION_H_
