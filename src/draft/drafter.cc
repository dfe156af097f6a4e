#include "draft/drafter.h"

namespace millrace::draft {

Result<std::unique_ptr<Drafter>> make_drafter(std::string_view name, const DrafterOptions& options) {
  std::string names;
  for (const DrafterKind& kind : all_drafters()) {
    if (kind.name == name) return kind.make(options);
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return make_error(ErrorCode::kInvalidArgument, "spec-method", "no drafter is called \"{}\"; there are {}", name,
                    names);
}

}  // namespace millrace::draft
