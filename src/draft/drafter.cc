#include "draft/drafter.h"

namespace millrace::draft {

const DrafterKind* find_drafter(std::string_view name) noexcept {
  for (const DrafterKind& kind : all_drafters()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

Result<std::unique_ptr<Drafter>> make_drafter(std::string_view name, const DrafterOptions& options) {
  if (const DrafterKind* kind = find_drafter(name)) return kind->make(options);
  std::string names;
  for (const DrafterKind& kind : all_drafters()) {
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return make_error(ErrorCode::kInvalidArgument, "spec-method", "no drafter is called \"{}\"; there are {}", name,
                    names);
}

}  // namespace millrace::draft
