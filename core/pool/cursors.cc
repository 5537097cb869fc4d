// SPDX-License-Identifier: Apache-2.0
#include "core/pool/cursors.h"

#include <algorithm>

namespace shufflefs {

// Workers may be a window behind the furthest of them.
uint64_t Cursors::Cursor::tail() const {
  const uint64_t lag = window + kNear;
  return next > lag ? next - lag : 0;
}

uint64_t Cursors::Cursor::end() const {
  const uint64_t lag = 2 * window + kNear;
  return next > lag ? next - lag : 0;
}

Cursors::Cursor* Cursors::Find(uint32_t id) {
  return const_cast<Cursor*>(static_cast<const Cursors*>(this)->Find(id));
}

const Cursors::Cursor* Cursors::Find(uint32_t id) const {
  const auto found =
      std::find_if(cursors_.begin(), cursors_.end(),
                   [id](const Cursor& cursor) { return cursor.id == id; });
  return found == cursors_.end() ? nullptr : &*found;
}

void Cursors::Tick() {
  if (++clock_ % kRecent != 0) return;
  std::erase_if(cursors_, [this](const Cursor& cursor) {
    return clock_ - cursor.noted > kLongIdle + 4 * cursor.window;
  });
}

void Cursors::Missed(uint64_t position) {
  Begin(position);
  recent_[next_recent_++ % kRecent] = position + 1;
}

bool Cursors::Advance(uint64_t position) {
  for (Cursor& cursor : cursors_) {
    if (position < cursor.end() || position >= cursor.ahead + kNear) continue;
    cursor.noted = clock_;
    // A straggler says nothing about what comes.
    if (position < cursor.tail()) return true;
    ++cursor.read;
    cursor.next = std::max(cursor.next, position + 1);
    cursor.ahead = std::max(cursor.ahead, cursor.next);
    return true;
  }
  return false;
}

void Cursors::Begin(uint64_t position) {
  int behind = 0;
  for (const uint64_t recent : recent_) {
    if (recent != 0 && recent - 1 < position && position - recent < kNear) {
      ++behind;
    }
  }
  if (behind < kEvidence) return;
  if (cursors_.size() == kMostCursors) {
    cursors_.erase(std::min_element(
        cursors_.begin(), cursors_.end(),
        [](const Cursor& a, const Cursor& b) { return a.noted < b.noted; }));
  }
  Cursor cursor;
  cursor.id = ++last_id_;
  cursor.next = cursor.ahead = position + 1;
  cursor.start = position - kEvidence;
  cursor.window = kLeastAhead / 2;
  cursor.noted = clock_;
  cursor.read = kEvidence;
  cursors_.push_back(cursor);
}

absl::optional<Cursors::Range> Cursors::Next(uint64_t most) {
  Cursor* neediest = nullptr;
  for (Cursor& cursor : cursors_) {
    cursor.window = std::min(cursor.window, most);
    const bool due = cursor.ahead - cursor.next <= cursor.window / 2 &&
                     cursor.ahead < samples_ && cursor.reads();
    if (due && (neediest == nullptr || cursor.ahead - cursor.next <
                                           neediest->ahead - neediest->next)) {
      neediest = &cursor;
    }
  }
  if (neediest == nullptr) return absl::nullopt;
  neediest->window = std::min(2 * neediest->window, most);
  Range range{neediest->id, neediest->ahead,
              std::min(neediest->next + neediest->window, samples_)};
  if (range.begin >= range.end) return absl::nullopt;
  neediest->ahead = range.end;
  Absorb(range.cursor);
  return range;
}

void Cursors::Absorb(uint32_t id) {
  Cursor cursor = *Find(id);
  // If two cursors met, the one behind goes on for both, from the position of
  // the other.
  std::erase_if(cursors_, [&](const Cursor& other) {
    if (other.id == id || other.next < cursor.next ||
        other.tail() > cursor.ahead) {
      return false;
    }
    cursor.next = other.next;
    cursor.ahead = std::max(cursor.ahead, other.ahead);
    cursor.window = std::max(cursor.window, other.window);
    cursor.noted = std::max(cursor.noted, other.noted);
    cursor.read += other.read;
    cursor.start = cursor.next > cursor.read ? cursor.next - cursor.read : 0;
    return true;
  });
  *Find(id) = cursor;
}

void Cursors::TakeBack(uint32_t cursor, uint64_t position) {
  Cursor* const found = Find(cursor);
  if (found == nullptr) return;
  found->ahead = std::max(found->next, position);
  found->window = std::max(kLeastAhead / 2, found->ahead - found->next);
}

bool Cursors::Awaits(uint64_t position) const {
  return std::any_of(
      cursors_.begin(), cursors_.end(), [position](const Cursor& cursor) {
        return position >= cursor.tail() && position < cursor.ahead;
      });
}

void Cursors::Unread(uint64_t position) {
  // Finds the cursor that passed the position.
  auto passed = cursors_.end();
  for (auto it = cursors_.begin(); it != cursors_.end(); ++it) {
    if (it->tail() > position &&
        (passed == cursors_.end() || it->tail() < passed->tail())) {
      passed = it;
    }
  }
  if (passed == cursors_.end()) return;
  ++passed->unread;
  if (passed->unread >= kRecent && passed->unread >= passed->read) {
    cursors_.erase(passed);
  }
}

}  // namespace shufflefs
