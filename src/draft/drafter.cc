#include "draft/drafter.h"

namespace millrace::draft {

const DrafterKind* find_drafter(std::string_view name) noexcept {
  for (const DrafterKind& kind : all_drafters()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

namespace {

Error unknown_drafter(std::string_view name) {
  std::string names;
  for (const DrafterKind& kind : all_drafters()) {
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return make_error(ErrorCode::kInvalidArgument, "spec-method", "no drafter is called \"{}\"; there are {}", name,
                    names);
}

}  // namespace

Result<std::unique_ptr<Drafter>> make_drafter(std::string_view name, const DrafterOptions& options) {
  const DrafterKind* kind = find_drafter(name);
  if (kind == nullptr) return unknown_drafter(name);
  if (auto good = options.values.check(kind->options); !good) return good.error();
  return kind->make(options);
}

Result<std::size_t> page_bytes(std::string_view name, const DrafterOptions& options) {
  const DrafterKind* kind = find_drafter(name);
  if (kind == nullptr) return unknown_drafter(name);
  if (kind->page_bytes == nullptr) return std::size_t{0};
  return kind->page_bytes(options);
}

}  // namespace millrace::draft
