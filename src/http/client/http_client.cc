#include "http/client/http_client.h"

#include <algorithm>

#include "base/lower_case.h"

namespace millrace::http {

const std::string* HttpHeaders::find(std::string_view name) const {
  for (const auto& [known, value] : fields_) {
    if (known.size() == name.size() && lower_case(known) == lower_case(name)) return &value;
  }
  return nullptr;
}

void HttpHeaders::remove(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return lower_case(field.first) == lower_case(name); });
}

}  // namespace millrace::http
