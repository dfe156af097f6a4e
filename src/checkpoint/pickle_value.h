#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::checkpoint {

// The content of a pickle as data. Values refer to each other by index. A pickle may refer to a value in several
// places, even from inside the value itself, so code that follows references must limit its depth.
using PickleRef = std::uint32_t;

struct PickleNone {};
struct PickleTuple {
  std::vector<PickleRef> items;
};
struct PickleList {
  std::vector<PickleRef> items;
};
struct PickleDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;  // in the order of setting; a key may occur twice
};
// A class or function of Python, as an index into the names that the reader was given.
struct PickleGlobal {
  std::size_t number = 0;
};
// A call that Python would make, with a tuple of arguments. It has not been made.
struct PickleCall {
  PickleRef callee = 0, arguments = 0;  // a PickleGlobal and a PickleTuple
};
// A reference to an object outside the pickle.
struct PicklePersistent {
  PickleRef id = 0;
};
using PickleValue = std::variant<PickleNone, bool, std::int64_t, double, std::string, PickleTuple, PickleList,
                                 PickleDict, PickleGlobal, PickleCall, PicklePersistent>;

struct Pickle {
  std::vector<PickleValue> values;
  PickleRef root = 0;

  template <typename T>
  const T* get_if(PickleRef ref) const {
    return std::get_if<T>(&values[ref]);
  }
};

}  // namespace millrace::checkpoint
