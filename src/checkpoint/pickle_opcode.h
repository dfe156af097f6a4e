#pragma once

#include <cstdint>

namespace millrace::checkpoint {

// The opcodes of Python's pickle that plain data and dictionaries of tensors need, about half of all.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py
namespace pickle_opcode {
enum : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kNone = 'N',
  kPersistent = 'Q',
  kCall = 'R',
  kText4 = 'X',
  kFloat = 'G',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kGet1 = 'h',
  kGet4 = 'j',
  kPut1 = 'q',
  kPut4 = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kText1 = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};
}  // namespace pickle_opcode

}  // namespace millrace::checkpoint
