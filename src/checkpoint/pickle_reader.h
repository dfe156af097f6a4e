#pragma once

#include <span>
#include <string_view>

#include "checkpoint/bounded_reader.h"
#include "checkpoint/pickle_value.h"

namespace millrace::checkpoint {

// A global name that a pickle may use.
struct PickleName {
  std::string_view name;       // module and qualified name: "collections.OrderedDict"
  bool is_dictionary = false;  // a call without arguments makes an empty dictionary
};

inline constexpr std::size_t kPickleMaxValues = 2 << 20;  // a tensor takes about 20 values
inline constexpr std::size_t kPickleMaxDepth = 1000;      // of nested open tuples, lists and dictionaries
inline constexpr std::size_t kPickleMaxTextBytes = 64 << 10;

// Reads the pickle (protocol 2 to 5) that takes all of the rest of `in`, as data. Nothing is executed: calls are
// recorded and not made, and a global becomes its index in `names`. Other globals, and opcodes that plain data and
// dictionaries of tensors do not need, are a LoadError (kUnsupported) naming them. Attributes set on a dictionary are
// dropped. Allocates at most about 50 bytes for each byte read, and at most 200 MB for 16 MiB.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py
Pickle read_pickle(BoundedReader& in, std::span<const PickleName> names);

}  // namespace millrace::checkpoint
