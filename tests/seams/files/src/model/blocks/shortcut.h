#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::model {

// x += W x, with W [E, E].
struct ShortcutParams {
  static constexpr std::string_view kKind = "shortcut";
  std::int64_t width = 0;  // E
  std::string name;        // pattern of W's name
};

}  // namespace millrace::model
