#include "chat/chat_template_set.h"

namespace millrace::chat {
namespace {

std::string listed(const ChatTemplateSet& set) {
  std::string names;
  for (const auto& [name, source] : set.sources) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

std::string_view ChatTemplateSet::default_source() const {
  const auto found = sources.find(kDefaultTemplate);
  return found == sources.end() ? std::string_view() : found->second;
}

Result<std::string> select_template(const ChatTemplateSet& set, std::string_view asked, bool has_tools) {
  if (set.empty()) return make_error(ErrorCode::kUnsupported, "chat_template", "this model has no chat template");
  std::string_view name = asked;
  if (asked.empty()) name = has_tools && set.sources.contains(kToolUseTemplate) ? kToolUseTemplate : kDefaultTemplate;
  if (set.sources.contains(name)) return std::string(name);
  if (asked.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "chat_template",
                      "this model has several chat templates and no default: name one of {}", listed(set));
  }
  return make_error(ErrorCode::kInvalidArgument, "chat_template",
                    "this model has no chat template of that name; it has {}", listed(set));
}

}  // namespace millrace::chat
