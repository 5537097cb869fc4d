// SPDX-License-Identifier: Apache-2.0
// Structs in Thrift's compact protocol, made field by field, for tests.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_THRIFT_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_THRIFT_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs::testing_support {

inline std::string ThriftVarint(uint64_t number) {
  std::string bytes;
  while (number > 127) {
    bytes += static_cast<char>(number % 128 + 128);
    number /= 128;
  }
  return bytes + static_cast<char>(number);
}

inline std::string ThriftZigZag(int64_t number) {
  return ThriftVarint(number >= 0 ? uint64_t(number) * 2
                                  : uint64_t(-(number + 1)) * 2 + 1);
}

inline std::string ThriftBinary(const std::string& bytes) {
  return ThriftVarint(bytes.size()) + bytes;
}

// Numbers of types, as the protocol has them.
enum WireType {
  kWireTrue = 1,
  kWireFalse,
  kWireByte,
  kWireI16,
  kWireI32,
  kWireI64,
  kWireDouble,
  kWireBinary,
  kWireList,
  kWireSet,
  kWireMap,
  kWireStruct,
  kWireUuid
};

inline std::string ThriftList(WireType element,
                              const std::vector<std::string>& elements) {
  std::string bytes;
  if (elements.size() < 15) {
    bytes += static_cast<char>(elements.size() << 4 | element);
  } else {
    bytes += static_cast<char>(0xF0 | element);
    bytes += ThriftVarint(elements.size());
  }
  for (const std::string& one : elements) bytes += one;
  return bytes;
}

class ThriftStruct {
 public:
  // A field of which the value is these bytes. `long_form`: its id is written
  // whole, not as the difference to the one before.
  ThriftStruct& Field(int id, WireType type, const std::string& value,
                      bool long_form = false) {
    if (id > last_ && id - last_ < 16 && !long_form) {
      bytes_ += static_cast<char>((id - last_) << 4 | type);
    } else {
      bytes_ += static_cast<char>(type);
      bytes_ += ThriftZigZag(id);
    }
    last_ = id;
    bytes_ += value;
    return *this;
  }
  ThriftStruct& I16(int id, int64_t n) {
    return Field(id, kWireI16, ThriftZigZag(n));
  }
  ThriftStruct& I32(int id, int64_t n) {
    return Field(id, kWireI32, ThriftZigZag(n));
  }
  ThriftStruct& I64(int id, int64_t n) {
    return Field(id, kWireI64, ThriftZigZag(n));
  }
  ThriftStruct& Binary(int id, const std::string& bytes) {
    return Field(id, kWireBinary, ThriftBinary(bytes));
  }
  ThriftStruct& Bool(int id, bool value) {
    return Field(id, value ? kWireTrue : kWireFalse, "");
  }
  ThriftStruct& Struct(int id, const ThriftStruct& inner) {
    return Field(id, kWireStruct, inner.Bytes());
  }
  ThriftStruct& List(int id, WireType element,
                     const std::vector<std::string>& elements) {
    return Field(id, kWireList, ThriftList(element, elements));
  }
  std::string Bytes() const { return bytes_ + '\0'; }

 private:
  std::string bytes_;
  int last_ = 0;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_THRIFT_FIXTURE_H_
