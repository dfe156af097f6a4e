#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unicode/category.h"

namespace millrace::unicode {

// A set of code points, as sorted ranges that neither overlap nor touch.
class CodePointSet {
 public:
  struct Range {
    char32_t first, last;
  };
  static CodePointSet of(CategorySet categories);
  static CodePointSet han();
  static CodePointSet white_space();
  // The members of the categories that Unicode 14 has not.
  static CodePointSet younger_than_unicode14(CategorySet categories);

  void add(char32_t first, char32_t last);  // first <= last
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  CodePointSet intersection(const CodePointSet& other) const;

  const std::vector<Range>& ranges() const;  // sorted and merged
  std::string as_pcre2() const;              // \x{41}-\x{5a}..., for use inside a class

 private:
  mutable std::vector<Range> ranges_;
  mutable bool merged_ = true;
};

// The set of a general category ("Lu") or of a group of them ("L"; "LC" is not accepted); nothing for other names.
std::optional<CategorySet> category_set(std::string_view name);

}  // namespace millrace::unicode
