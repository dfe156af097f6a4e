#pragma once

#include <span>
#include <string_view>

#include "checkpoint/bounded_reader.h"
#include "checkpoint/pickle_value.h"

namespace millrace::checkpoint {

// A global that a pickle may name.
struct PickleName {
  std::string_view name;       // module and qualified name: "collections.OrderedDict"
  bool is_dictionary = false;  // calling it without arguments makes an empty dictionary
};

inline constexpr std::size_t kPickleMaxValues = 2 << 20;  // a tensor takes about 20
inline constexpr std::size_t kPickleMaxDepth = 1000;      // of tuples, lists and dictionaries that are begun
inline constexpr std::size_t kPickleMaxTextBytes = 64 << 10;

// Reads the pickle (protocol 2 to 5) that all the rest of `in` is, into data. It cannot do anything: a call is written
// down and not made, and a global is a number in `names`; any other, and every opcode but those that plain data and
// dictionaries of tensors need, is a LoadError (kUnsupported) that names it, at the place where it stands. Attributes
// set on a dictionary are dropped. Allocates at most about 50 bytes for each byte read, and never more than 200 MB for
// 16 MiB. https://github.com/python/cpython/blob/main/Lib/pickletools.py
Pickle read_pickle(BoundedReader& in, std::span<const PickleName> names);

}  // namespace millrace::checkpoint
