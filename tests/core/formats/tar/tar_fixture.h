// SPDX-License-Identifier: Apache-2.0
// Tar archives, made header by header in each of the formats.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_TAR_TAR_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_TAR_TAR_FIXTURE_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace shufflefs::testing_support {

enum class TarFormat { kUstar, kGnu, kPax };

inline void SetField(std::string& block, size_t at, const std::string& text) {
  block.replace(at, text.size(), text);
}

// Gives a header the checksum that fits.
inline void SealTar(std::string& block) {
  SetField(block, 148, std::string(8, ' '));
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<uint8_t>(block[i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  SetField(block, 148, std::string(text, 7) + ' ');
}

inline std::string OctalField(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%011llo",
                static_cast<unsigned long long>(value));
  return text;
}

// GNU's form of a number in 12 bytes.
inline std::string Base256Field(uint64_t value) {
  std::string field(12, '\0');
  field[0] = '\x80';
  for (size_t i = 11; i > 3; --i, value >>= 8) {
    field[i] = static_cast<char>(value & 0xFF);
  }
  return field;
}

// One block. `name` has at most 100 bytes.
inline std::string TarHeaderBlock(const std::string& name, uint64_t size,
                                  char type, bool gnu = false) {
  std::string block(512, '\0');
  SetField(block, 0, name);
  SetField(block, 100, "0000644");
  SetField(block, 108, "0001750");
  SetField(block, 116, "0001750");
  SetField(block, 124, OctalField(size));
  SetField(block, 136, "14000000000");
  block[156] = type;
  SetField(block, 257, gnu ? "ustar  " : std::string("ustar\00000", 8));
  SealTar(block);
  return block;
}

inline std::string Padded(std::string data) {
  data.resize((data.size() + 511) / 512 * 512);
  return data;
}

// A header of type `type` in front of a member, with what it holds.
inline std::string TarExtension(char type, const std::string& data) {
  return TarHeaderBlock(type == 'x' ? "PaxHeaders/x" : "././@LongLink",
                        data.size(), type, type != 'x') +
         Padded(data);
}

inline std::string PaxRecord(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest;
  while (absl::StrCat(length).size() + rest != length) {
    length = absl::StrCat(length).size() + rest;
  }
  return absl::StrCat(length, " ", key, "=", value, "\n");
}

// A member with all that belongs to it. A long name in ustar needs a '/' where
// it can be cut.
inline std::string TarMember(const std::string& name, const std::string& data,
                             TarFormat format = TarFormat::kUstar,
                             char type = '0') {
  std::string front;
  std::string in_block = name.substr(0, 100);
  std::string prefix;
  if (format == TarFormat::kPax) {
    front = TarExtension(
        'x', PaxRecord("mtime", "1700000000.5") + PaxRecord("path", name));
  } else if (name.size() > 100 && format == TarFormat::kGnu) {
    front = TarExtension('L', name + '\0');
  } else if (name.size() > 100) {
    const size_t cut = name.find('/', name.size() - 101);
    prefix = name.substr(0, cut);
    in_block = name.substr(cut + 1);
  }
  std::string block =
      TarHeaderBlock(in_block, data.size(), type, format == TarFormat::kGnu);
  SetField(block, 345, prefix);
  SealTar(block);
  return front + block + Padded(data);
}

// What ends an archive; GNU tar fills it up to 10,240 bytes.
inline std::string TarEnd() { return std::string(1024, '\0'); }

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_TAR_TAR_FIXTURE_H_
