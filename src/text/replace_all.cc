#include "text/replace_all.h"

namespace millrace::text {

void replace_all(std::string& text, std::string_view pattern, std::string_view content) {
  std::size_t at = pattern.empty() ? text.npos : text.find(pattern);
  if (at == text.npos) return;
  std::string out;
  std::size_t done = 0;
  for (; at != text.npos; at = text.find(pattern, done)) {
    out.append(text, done, at - done).append(content);
    done = at + pattern.size();
  }
  text = out.append(text, done);
}

}  // namespace millrace::text
