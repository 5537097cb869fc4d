// SPDX-License-Identifier: Apache-2.0
#include "core/formats/npy_header.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr absl::string_view kNpyMagic("\x93NUMPY", 6);
constexpr size_t kMaxDictionary = 10000;
constexpr int kMaxDepth = 8;  // of nested structures

absl::Status RefusedNpy(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

absl::Status TooLarge() {
  return RefusedNpy("by its npy header, rows have more than 2^64 bytes");
}

// Bytes per element of a plain type as numpy writes it, "<f4".
absl::StatusOr<uint64_t> PlainBytes(absl::string_view type) {
  // The type itself is content: everybody may read the status.
  const auto unknown = [] {
    return RefusedNpy("its npy header names an unknown element type");
  };
  if (type.size() < 2 || !absl::StrContains("<>|=", type[0])) return unknown();
  const char kind = type[1];
  absl::string_view digits = type.substr(2);
  if (kind == 'O') return RefusedNpy("its rows hold Python objects");
  if (kind == 'M' || kind == 'm') {  // "<M8[ns]": the unit takes no bytes
    const size_t unit = digits.find('[');
    if (unit != absl::string_view::npos && absl::EndsWith(digits, "]")) {
      digits = digits.substr(0, unit);
    }
  } else if (!absl::StrContains("biufcSUV", kind)) {
    return unknown();
  }
  uint32_t size = 0;
  if (digits.empty() || !absl::ascii_isdigit(digits[0]) ||
      !absl::SimpleAtoi(digits, &size)) {
    return unknown();
  }
  return kind == 'U' ? uint64_t{4} * size : uint64_t{size};
}

// Parses the one dictionary that numpy writes, and nothing else of Python.
class Dictionary {
 public:
  explicit Dictionary(absl::string_view text) : rest_(text) {}

  // {'descr': …, 'fortran_order': …, 'shape': …}, in any order.
  absl::Status Parse() {
    RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      RETURN_IF_ERROR(ParseEntry());
      if (Take(',')) continue;
      RETURN_IF_ERROR(Expect('}'));
      break;
    }
    if (!absl::StripAsciiWhitespace(rest_).empty()) return Malformed();
    if (!element_bytes_ || !fortran_order_ || !shape_) return Malformed();
    return absl::OkStatus();
  }

  // REQUIRES: Parse() was OK.
  uint64_t element_bytes() const { return *element_bytes_; }
  bool fortran_order() const { return *fortran_order_; }
  const std::vector<uint64_t>& shape() const { return *shape_; }

 private:
  static absl::Status Malformed() {
    return RefusedNpy("its npy header is not as numpy writes it");
  }

  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(absl::string_view word) {
    SkipSpace();
    return absl::ConsumePrefix(&rest_, word);
  }
  absl::Status Expect(char c) {
    return Take(c) ? absl::OkStatus() : Malformed();
  }

  absl::Status ParseEntry() {
    ASSIGN_OR_RETURN(const absl::string_view key, ParseString());
    RETURN_IF_ERROR(Expect(':'));
    if (key == "descr" && !element_bytes_) {
      ASSIGN_OR_RETURN(element_bytes_, ParseType(0));
    } else if (key == "fortran_order" && !fortran_order_) {
      const bool is_true = TakeWord("True");
      if (!is_true && !TakeWord("False")) return Malformed();
      fortran_order_ = is_true;
    } else if (key == "shape" && !shape_) {
      ASSIGN_OR_RETURN(shape_, ParseShape());
    } else {
      return Malformed();
    }
    return absl::OkStatus();
  }

  // Escapes are not supported, because only a field's name could need one.
  absl::StatusOr<absl::string_view> ParseString() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return Malformed();
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Malformed();
    const absl::string_view text = rest_.substr(1, end - 1);
    if (absl::StrContains(text, '\\')) return Malformed();
    rest_.remove_prefix(end + 1);
    return text;
  }

  // A tuple of numbers: (), (3,), (3, 4). Python 2 wrote 3L.
  absl::StatusOr<std::vector<uint64_t>> ParseShape() {
    std::vector<uint64_t> shape;
    RETURN_IF_ERROR(Expect('('));
    bool comma = true;
    while (!Take(')')) {
      if (!comma) return Malformed();
      SkipSpace();
      size_t length = 0;
      while (length < rest_.size() && absl::ascii_isdigit(rest_[length])) {
        ++length;
      }
      uint64_t value = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, length), &value)) {
        return Malformed();
      }
      rest_.remove_prefix(length);
      absl::ConsumePrefix(&rest_, "L");
      shape.push_back(value);
      comma = Take(',');
    }
    if (shape.size() == 1 && !comma) return Malformed();  // (3) is no tuple
    return shape;
  }

  // Returns the bytes of '<f4', or of [('name', '<f4'), ('name', '<u2', (3,
  // 4)), …].
  absl::StatusOr<uint64_t> ParseType(int depth) {
    if (!Take('[')) {
      SkipSpace();
      if (absl::StartsWith(rest_, "(")) {
        return RefusedNpy(
            "its npy header names an element type that has a shape");
      }
      ASSIGN_OR_RETURN(const absl::string_view type, ParseString());
      return PlainBytes(type);
    }
    if (depth == kMaxDepth) return Malformed();
    uint64_t sum = 0;
    while (!Take(']')) {
      ASSIGN_OR_RETURN(const uint64_t field, ParseField(depth));
      if (__builtin_add_overflow(sum, field, &sum)) return TooLarge();
      if (Take(',')) continue;
      RETURN_IF_ERROR(Expect(']'));
      break;
    }
    return sum;
  }

  absl::StatusOr<uint64_t> ParseField(int depth) {
    RETURN_IF_ERROR(Expect('('));
    if (Take('(')) {  // a title and a name
      RETURN_IF_ERROR(ParseString().status());
      RETURN_IF_ERROR(Expect(','));
      RETURN_IF_ERROR(ParseString().status());
      RETURN_IF_ERROR(Expect(')'));
    } else {
      RETURN_IF_ERROR(ParseString().status());
    }
    RETURN_IF_ERROR(Expect(','));
    ASSIGN_OR_RETURN(uint64_t bytes, ParseType(depth + 1));
    if (Take(',')) {
      ASSIGN_OR_RETURN(const std::vector<uint64_t> shape, ParseShape());
      for (const uint64_t extent : shape) {
        if (__builtin_mul_overflow(bytes, extent, &bytes)) return TooLarge();
      }
    }
    RETURN_IF_ERROR(Expect(')'));
    return bytes;
  }

  absl::string_view rest_;
  absl::optional<uint64_t> element_bytes_;
  absl::optional<bool> fortran_order_;
  absl::optional<std::vector<uint64_t>> shape_;
};

// The position of the dictionary in the file.
struct Place {
  size_t begin;
  size_t length;
};

absl::StatusOr<Place> FindDictionary(absl::string_view head) {
  if (!absl::StartsWith(head, kNpyMagic)) return RefusedNpy("not an npy file");
  const absl::Status cut_off = RefusedNpy("it ends inside its npy header");
  if (head.size() < kNpyMagic.size() + 2) return cut_off;
  const int major = static_cast<uint8_t>(head[kNpyMagic.size()]);
  const int minor = static_cast<uint8_t>(head[kNpyMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return RefusedNpy(
        absl::StrCat("an npy file of version ", major, ".", minor));
  }
  const size_t length_at = kNpyMagic.size() + 2;
  const size_t length_bytes = major == 1 ? 2 : 4;
  Place place = {length_at + length_bytes, 0};
  if (head.size() < place.begin) return cut_off;
  for (size_t i = length_bytes; i > 0; --i) {
    place.length =
        place.length << 8 | static_cast<uint8_t>(head[length_at + i - 1]);
  }
  if (place.length > kMaxDictionary) {
    return RefusedNpy(
        absl::StrCat("its npy header has ", place.length, " bytes"));
  }
  if (head.size() - place.begin < place.length) return cut_off;
  return place;
}

}  // namespace

absl::StatusOr<FixedShape> ParseNpyHeader(absl::string_view head,
                                          uint64_t file_bytes) {
  ASSIGN_OR_RETURN(const Place place, FindDictionary(head));
  Dictionary dictionary(head.substr(place.begin, place.length));
  RETURN_IF_ERROR(dictionary.Parse());
  if (dictionary.fortran_order()) {
    return RefusedNpy(
        "its array is in Fortran order: a row is not in one piece");
  }
  if (dictionary.shape().empty())
    return RefusedNpy("its array has no dimensions");
  FixedShape shape;
  shape.head_bytes = place.begin + place.length;
  shape.count = dictionary.shape()[0];
  shape.record_bytes = dictionary.element_bytes();
  for (size_t i = 1; i < dictionary.shape().size(); ++i) {
    if (__builtin_mul_overflow(shape.record_bytes, dictionary.shape()[i],
                               &shape.record_bytes)) {
      return TooLarge();
    }
  }
  return DeclaredShape(file_bytes, shape);
}

}  // namespace shufflefs
