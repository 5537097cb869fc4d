// SPDX-License-Identifier: Apache-2.0
#include "core/formats/lines_scanner.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// Input is processed in parts that stay in the processor's cache, because each
// is searched more than once.
constexpr size_t kLineStep = 16 * 1024;
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kNotThere = absl::string_view::npos;

bool IsSeparator(char c) {
  return c == ',' || c == ';' || c == '|' || c == '\t';
}

// A search with memchr, which the C library makes fast.
size_t Find(absl::string_view bytes, char c, size_t from) {
  if (from == bytes.size()) return kNotThere;
  const void* found = std::memchr(bytes.data() + from, c, bytes.size() - from);
  return found == nullptr ? kNotThere
                          : static_cast<const char*>(found) - bytes.data();
}

class LineMachine : public LinesScanner {
 public:
  explicit LineMachine(const LinesOptions& options)
      : csv_(options.csv || options.csv_quoted),
        quoted_(options.csv_quoted),
        header_left_(options.header_lines) {}

  absl::Status Feed(absl::string_view bytes, RecordSink& sink) override {
    while (!bytes.empty()) {
      const absl::string_view part = bytes.substr(0, kLineStep);
      RETURN_IF_ERROR(FeedPart(part, sink));
      at_ += part.size();
      last_ = part.back();
      bytes.remove_prefix(part.size());
    }
    return absl::OkStatus();
  }

  absl::Status Finish(RecordSink& sink) override;
  bool last_is_open() const override { return last_is_open_; }

 private:
  absl::Status FeedPart(absl::string_view part, RecordSink& sink);
  void PassByteOrderMark(absl::string_view part);
  // Each of these adds the records that end in its argument.
  absl::Status AddText(absl::string_view text, RecordSink& sink);
  void AddLines(absl::string_view part, RecordSink& sink);
  absl::Status AddCsvLines(absl::string_view part, RecordSink& sink);
  absl::Status AddQuotedLines(absl::string_view part, RecordSink& sink);
  // The byte before byte `i` of `part`, which is not the first of the file.
  char Before(absl::string_view part, size_t i) const {
    return i > 0 ? part[i - 1] : last_;
  }
  // Ends the record, or the header line, at the '\n' at `newline`.
  void End(absl::string_view part, size_t newline, RecordSink& sink);
  void Add(uint64_t end, RecordSink& sink);
  // Counts the '"' of `open`, which has no '\n'.
  void CountQuotes(absl::string_view open);
  // Notes with which backslashes a text without '"' ends.
  void PassBackslashes(absl::string_view text);
  absl::Status CheckQuotes() const;
  absl::Status CheckClosed(char next) const;
  absl::Status CheckOpening(absl::string_view part, size_t quote) const;

  const bool csv_;
  const bool quoted_;
  uint64_t header_left_;

  uint64_t at_ = 0;     // bytes of the file that were taken
  uint64_t begin_ = 0;  // where the current record begins
  char last_ = 0;       // the byte before at_
  size_t mark_ = 0;     // bytes of the byte order mark found so far
  bool begun_ = false;
  bool has_empty_ = false;
  bool last_is_open_ = false;
  // The current record has had an odd number of '"' so far.
  bool inside_quotes_ = false;
  // The same of those '"' that no backslash escapes. Some writers, such as
  // Spark, escape quotes so.
  bool inside_unescaped_ = false;
  bool escapes_ = false;  // the previous byte is a backslash that would escape
  // The previous byte was a '"' that ended quotes, or the first of two.
  bool closed_ = false;
};

absl::Status LineMachine::FeedPart(absl::string_view part, RecordSink& sink) {
  const size_t nul = Find(part, '\0', 0);
  // The text before it is processed first, so that the error does not depend on
  // where the file was cut.
  RETURN_IF_ERROR(AddText(part.substr(0, nul), sink));
  if (nul == kNotThere) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("binary data: a NUL at byte ", at_ + nul));
}

absl::Status LineMachine::AddText(absl::string_view text, RecordSink& sink) {
  if (at_ < kByteOrderMark.size()) PassByteOrderMark(text);
  const bool looks = csv_ && (inside_quotes_ || inside_unescaped_ || closed_ ||
                              Find(text, '"', 0) != kNotThere);
  if (!looks) {
    PassBackslashes(text);
    AddLines(text, sink);
    return absl::OkStatus();
  }
  return quoted_ ? AddQuotedLines(text, sink) : AddCsvLines(text, sink);
}

void LineMachine::PassByteOrderMark(absl::string_view part) {
  if (mark_ != at_) return;  // an earlier byte was no part of it
  for (const char c : part) {
    if (c != kByteOrderMark[mark_]) return;
    if (++mark_ < kByteOrderMark.size()) continue;
    begin_ = mark_;
    return;
  }
}

void LineMachine::AddLines(absl::string_view part, RecordSink& sink) {
  for (size_t newline = Find(part, '\n', 0); newline != kNotThere;
       newline = Find(part, '\n', newline + 1)) {
    End(part, newline, sink);
  }
}

absl::Status LineMachine::AddCsvLines(absl::string_view part,
                                      RecordSink& sink) {
  for (size_t from = 0; from < part.size();) {
    const size_t newline = Find(part, '\n', from);
    const size_t end = newline == kNotThere ? part.size() : newline;
    CountQuotes(part.substr(from, end - from));
    if (newline == kNotThere) break;
    RETURN_IF_ERROR(CheckQuotes());
    escapes_ = false;
    End(part, newline, sink);
    from = newline + 1;
  }
  return absl::OkStatus();
}

absl::Status LineMachine::AddQuotedLines(absl::string_view part,
                                         RecordSink& sink) {
  for (size_t i = 0; i < part.size();) {
    if (inside_quotes_) {
      const size_t quote = Find(part, '"', i);
      if (quote == kNotThere) return absl::OkStatus();
      inside_quotes_ = false;
      closed_ = true;
      i = quote + 1;
      continue;
    }
    if (closed_) {
      closed_ = false;
      if (part[i] == '"') {  // the second of two, which denote one
        inside_quotes_ = true;
        ++i;
        continue;
      }
      RETURN_IF_ERROR(CheckClosed(part[i]));
    }
    const size_t quote = std::min(Find(part, '"', i), part.size());
    const absl::string_view open = part.substr(0, quote);
    for (size_t newline = Find(open, '\n', i); newline != kNotThere;
         newline = Find(open, '\n', newline + 1)) {
      End(part, newline, sink);
    }
    if (quote == part.size()) return absl::OkStatus();
    RETURN_IF_ERROR(CheckOpening(part, quote));
    inside_quotes_ = true;
    i = quote + 1;
  }
  return absl::OkStatus();
}

void LineMachine::End(absl::string_view part, size_t newline,
                      RecordSink& sink) {
  const uint64_t end = at_ + newline + 1;
  if (header_left_ > 0) {
    --header_left_;
    begin_ = end;
    return;
  }
  const uint64_t bytes = end - begin_;
  if (bytes == 1 || (bytes == 2 && Before(part, newline) == '\r')) {
    has_empty_ = true;
  }
  Add(end, sink);
}

void LineMachine::Add(uint64_t end, RecordSink& sink) {
  if (!begun_) sink.Begin(begin_);
  begun_ = true;
  sink.Add(end - begin_);
  begin_ = end;
}

void LineMachine::CountQuotes(absl::string_view open) {
  if (!escapes_ && Find(open, '\\', 0) == kNotThere) {
    const bool odd = std::count(open.begin(), open.end(), '"') % 2 != 0;
    inside_quotes_ ^= odd;
    inside_unescaped_ ^= odd;
    return;
  }
  for (const char c : open) {
    inside_quotes_ ^= c == '"';
    inside_unescaped_ ^= c == '"' && !escapes_;
    escapes_ = c == '\\' && !escapes_;
  }
}

void LineMachine::PassBackslashes(absl::string_view text) {
  size_t run = 0;
  while (run < text.size() && text[text.size() - 1 - run] == '\\') ++run;
  escapes_ = (run % 2 != 0) != (run == text.size() && escapes_);
}

// A record that ends inside quotes has a newline in a field, which would be cut
// there. Of the two ways to read a quote behind a backslash nobody says which
// is right.
absl::Status LineMachine::CheckQuotes() const {
  if (inside_quotes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("quoted newlines: name record.csv = quoted (the line at "
                     "byte ",
                     begin_, " has an odd number of double quotes)"));
  }
  if (inside_unescaped_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a backslash before a double quote, which may escape it, in the line "
        "at byte ",
        begin_, ": if it does not, name record.csv = quoted"));
  }
  return absl::OkStatus();
}

absl::Status LineMachine::CheckClosed(char next) const {
  if (IsSeparator(next) || next == '\n' || next == '\r') {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a double quote that ends inside a field, in the record at "
                   "byte ",
                   begin_));
}

absl::Status LineMachine::CheckOpening(absl::string_view part,
                                       size_t quote) const {
  if (at_ + quote == begin_ || IsSeparator(Before(part, quote))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a double quote inside a field, at byte ", at_ + quote));
}

absl::Status LineMachine::Finish(RecordSink& sink) {
  if (inside_quotes_) {
    if (!quoted_) return CheckQuotes();
    return absl::FailedPreconditionError(absl::StrCat(
        "a double quote that is never closed, in the record at byte ", begin_));
  }
  if (begin_ == at_ || header_left_ > 0) return absl::OkStatus();
  if (has_empty_) {
    return absl::FailedPreconditionError(
        "an empty line, and a last line without its end");
  }
  last_is_open_ = true;
  Add(at_, sink);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<LinesScanner> MakeLinesScanner(const LinesOptions& options) {
  return std::make_unique<LineMachine>(options);
}

}  // namespace shufflefs
