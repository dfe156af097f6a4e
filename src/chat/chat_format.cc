#include "chat/chat_format.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "chat/chat_request.h"

namespace millrace::chat {
namespace {

constexpr std::size_t kMaxTemplates = 64;  // each is compiled and probed at load

Error named(Error error, const std::string& name) {
  if (name != kDefaultTemplate) error.message = "chat template '" + name + "': " + error.message;
  error.code = ErrorCode::kBadFile;
  return error;
}

}  // namespace

Result<std::shared_ptr<const ChatFormat>> ChatFormat::load(ChatTemplateSet set, TemplateContext context,
                                                           TemplateLimits limits) {
  if (set.empty()) return make_error(ErrorCode::kUnsupported, "chat_template", "this model has no chat template");
  if (set.sources.size() > kMaxTemplates) {
    return make_error(ErrorCode::kBadFile, "chat_template", "the model has {} chat templates; at most {} are allowed",
                      set.sources.size(), kMaxTemplates);
  }
  const std::shared_ptr<ChatFormat> format(new ChatFormat(std::move(set), std::move(context)));
  for (const auto& [name, source] : format->set_.sources) {
    auto compiled = ChatTemplate::compile(source, limits);
    if (!compiled) return named(compiled.error(), name);
    auto capabilities = probe(**compiled, format->context_);
    if (!capabilities) return named(capabilities.error(), name);
    format->formats_.emplace(name, Format{*std::move(compiled), *std::move(capabilities)});
  }
  return std::shared_ptr<const ChatFormat>(format);
}

Result<const ChatFormat::Format*> ChatFormat::select(std::string_view template_name, bool has_tools) const {
  const auto name = select_template(set_, template_name, has_tools);
  if (!name) return name.error();
  return &formats_.find(*name)->second;
}

Result<std::vector<text::TextPiece>> ChatFormat::render(const nlohmann::ordered_json& request, std::int64_t unix_time,
                                                        std::string_view template_name) const {
  const auto tools = request.is_object() ? request.find("tools") : request.end();
  const auto format = select(template_name, tools != request.end() && !tools->empty());
  if (!format) return format.error();
  const auto variables = chat_variables(request, (*format)->capabilities);
  if (!variables) return variables.error();
  TemplateContext context = context_;
  context.unix_time = unix_time;
  return (*format)->chat_template->render(*variables, context);
}

std::string_view ChatFormat::source(bool has_tools, std::string_view template_name) const {
  const auto name = select_template(set_, template_name, has_tools);
  return name ? std::string_view(set_.sources.find(*name)->second) : std::string_view();
}

Result<TemplateCapabilities> ChatFormat::capabilities(bool has_tools, std::string_view template_name) const {
  const auto format = select(template_name, has_tools);
  if (!format) return format.error();
  return (*format)->capabilities;
}

}  // namespace millrace::chat
