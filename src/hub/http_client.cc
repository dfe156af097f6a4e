#include "hub/http_client.h"

#include <algorithm>

#include "hub/repository_file.h"

namespace millrace::hub {

const std::string* HttpHeaders::find(std::string_view name) const {
  for (const auto& [known, value] : fields_) {
    if (known.size() == name.size() && lower_case(known) == lower_case(name)) return &value;
  }
  return nullptr;
}

void HttpHeaders::remove(std::string_view name) {
  std::erase_if(fields_, [&](const auto& field) { return lower_case(field.first) == lower_case(name); });
}

}  // namespace millrace::hub
