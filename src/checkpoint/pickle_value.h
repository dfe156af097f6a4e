#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::checkpoint {

// What a pickle says, as data. Values name each other by number: a pickle may use one in several places, also inside of
// itself, so who walks along them must not do so without a limit.
using PickleRef = std::uint32_t;

struct PickleNone {};
struct PickleTuple {
  std::vector<PickleRef> items;
};
struct PickleList {
  std::vector<PickleRef> items;
};
struct PickleDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;  // as they were set; a key may occur twice
};
// A class or function of Python: which of those that the reader was told to expect.
struct PickleGlobal {
  std::size_t number = 0;
};
// What Python would call, with a tuple of arguments. It was not called.
struct PickleCall {
  PickleRef callee = 0, arguments = 0;  // a PickleGlobal, a PickleTuple
};
// An object outside of the pickle.
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
