#include "chat/chat_capabilities.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "chat/chat_role.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

// Words that no template writes by itself. They keep their form under trim, and the arguments are spelled as Python's
// json.dumps does.
constexpr std::string_view kUser = "zq_user", kSystem = "zq_system", kTool = "zq_tool", kKey = "zq_key";
constexpr std::string_view kValue = "zq_value", kSecondValue = "zq_second", kResult = "zq_result", kDocument = "zq_doc";
constexpr std::string_view kUnknownRole = "zq_role", kUnknownEffort = "zq_effort";
constexpr std::string_view kArguments = R"({"zq_key": "zq_value"})", kSecondArguments = R"({"zq_key": "zq_second"})";

bool contains(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

std::string join(std::span<const text::TextPiece> pieces) {
  std::string text;
  for (const text::TextPiece& piece : pieces) text += piece.text;
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, const TemplateContext& context)
      : template_(chat_template), context_(context) {}

  Result<TemplateCapabilities> run() {
    if (auto found = probe_content(); !found) return found.error();
    probe_roles();
    probe_tools();
    probe_tool_calls();
    found_.documents = shows({{"messages", Json::array({user()})}, {"documents", documents()}}, kDocument);
    probe_generation_prompt();
    return found_;
  }

 private:
  // Transformers defines these names in every rendering.
  Result<std::vector<text::TextPiece>> render(Json variables) const {
    Json all = {{"tools", needs_extras_ ? tools() : Json()},
                {"documents", needs_extras_ ? documents() : Json()},
                {"add_generation_prompt", true}};
    all.update(variables);
    return template_.render(all, context_);
  }
  std::optional<std::string> text(Json variables) const {
    const auto pieces = render(std::move(variables));
    return pieces ? std::optional(join(*pieces)) : std::nullopt;
  }
  bool shows(Json variables, std::string_view word) const {
    const auto rendered = text(std::move(variables));
    return rendered && contains(*rendered, word);
  }

  static Json parts(std::string_view content) { return Json::array({{{"type", "text"}, {"text", content}}}); }
  Json message(std::string_view role, std::string_view content) const {
    return {{"role", role}, {"content", found_.content_strings ? Json(content) : parts(content)}};
  }
  Json user() const { return message("user", kUser); }
  static Json documents() { return Json::array({{{"title", "zq_title"}, {"text", kDocument}}}); }
  static Json tools() {
    const Json property = {{"type", "string"}, {"description", "zq_property"}};
    const Json parameters = {{"type", "object"}, {"properties", {{"zq_name", property}}}, {"required", {"zq_name"}}};
    const Json function = {{"name", kTool}, {"description", "zq_description"}, {"parameters", parameters}};
    return Json::array({{{"type", "function"}, {"function", function}}});
  }

  // A template made for tools or documents may need them even for the simplest conversation.
  Result<void> probe_content() {
    std::string reason = "it does not write the message's content";
    for (const bool with_extras : {false, true}) {
      needs_extras_ = with_extras;
      const auto written = [&](const Json& content) {
        const auto pieces = render({{"messages", Json::array({{{"role", "user"}, {"content", content}}})}});
        if (!pieces && content.is_string()) reason = pieces.error().message;
        const std::string all = pieces ? join(*pieces) : std::string();
        // Quoted, it is not the text of the part but the part itself, printed.
        return contains(all, kUser) && !contains(all, "'zq_user'") && !contains(all, "\"zq_user\"");
      };
      found_.content_strings = written(Json(kUser));
      found_.content_parts = written(parts(kUser));
      if (found_.content_strings || found_.content_parts) return {};
    }
    return make_error(ErrorCode::kBadFile, "chat_template", "the chat template cannot render a single user message: {}",
                      reason);
  }

  void probe_roles() {
    const auto begins_with = [&](std::string_view role) {
      return text({{"messages", Json::array({message(role, kSystem), user()})}});
    };
    const auto system = begins_with("system"), developer = begins_with("developer"),
               unknown = begins_with(kUnknownRole);
    found_.system_role = system && contains(*system, kSystem);
    // After the instructions, and between an answer and the next question.
    const auto later = text({{"messages", Json::array({message("system", kTool), message("system", kKey), user(),
                                                       message("assistant", kValue), message("system", kSystem),
                                                       message("user", kResult)})}});
    const auto in_order = [&] {
      std::size_t at = 0;
      for (const std::string_view word : {kTool, kKey, kUser, kValue, kSystem, kResult}) {
        at = later->find(word, at);
        if (at == later->npos) return false;
      }
      return true;
    };
    found_.later_system = found_.system_role && later && in_order();
    // In lower case, as a template may write the role in another.
    const bool as_any_role =
        developer && unknown && replaced(lower(*unknown), kUnknownRole, "developer") == lower(*developer);
    found_.developer_role = developer && contains(*developer, kSystem) && !as_any_role;
  }

  void probe_tools() {
    found_.tools = shows({{"messages", Json::array({user()})}, {"tools", tools()}}, kTool) ||
                   shows({{"messages", Json::array({message("system", kSystem), user()})}, {"tools", tools()}}, kTool);
  }

  static Json call(std::string_view id, Json arguments) {
    return {{"id", id}, {"type", "function"}, {"function", {{"name", kTool}, {"arguments", std::move(arguments)}}}};
  }
  // A question, calls, and their results. Ids as Mistral's templates demand them.
  std::optional<std::string> called(const Json& content, const std::vector<Json>& arguments,
                                    const Json& more = Json::object()) const {
    Json messages = Json::array({user()}), calls = Json::array(), results = Json::array();
    for (const Json& values : arguments) {
      const std::string id = calls.empty() ? "zqcall001" : "zqcall002";
      calls.push_back(call(id, values));
      Json result = message("tool", kResult);
      result.update({{"tool_call_id", id}, {"name", kTool}});
      results.push_back(std::move(result));
    }
    messages.push_back({{"role", "assistant"}, {"content", content}, {"tool_calls", calls}});
    messages.back().update(more);
    for (Json& result : results) messages.push_back(std::move(result));
    return text({{"messages", messages}, {"tools", found_.tools || needs_extras_ ? tools() : Json()}});
  }
  static bool shows_object(const std::string& rendered) {
    return contains(rendered, kKey) && contains(rendered, kValue) && !contains(rendered, "{'zq_key'");
  }

  void probe_tool_calls() {
    const Json object = Json::parse(kArguments), string = kArguments;
    bool objects = false, strings = false;
    for (const Json& content : {Json(), Json("")}) {
      const auto from_object = called(content, {object}), from_string = called(content, {string});
      const bool object_written = from_object && shows_object(*from_object);
      const bool string_written = from_string && contains(*from_string, kArguments);
      objects |= object_written;
      strings |= string_written;
      (content.is_null() ? found_.null_content : found_.empty_content) = object_written || string_written;
      found_.tool_results |=
          (from_object && contains(*from_object, kResult)) || (from_string && contains(*from_string, kResult));
    }
    if (!objects && !strings) return;
    found_.tool_arguments = !strings   ? ToolArguments::kObject
                            : !objects ? ToolArguments::kString
                                       : ToolArguments::kEither;
    const Json content = found_.null_content ? Json() : Json("");
    const auto both = objects ? called(content, {object, Json::parse(kSecondArguments)})
                              : called(content, {string, Json(kSecondArguments)});
    const std::vector<Json> one = {objects ? object : string};
    const Json thought = {{"thinking", kDocument}, {"reasoning_content", kDocument}};
    found_.text_and_reasoning = !called(kSystem, one) || called(kSystem, one, thought);
    found_.parallel_tool_calls = both && contains(*both, kValue) && contains(*both, kSecondValue);
  }

  void probe_generation_prompt() {
    const Json plain = {{"messages", Json::array({user()})}};
    const auto with = [&](std::string_view name, const Json& value) {
      Json variables = plain;
      variables[std::string(name)] = value;
      return variables;
    };
    const auto by_default = text(plain);
    found_.generation_prompt = text(with("add_generation_prompt", false)) != by_default;
    Json on = plain;
    for (const ThinkingSwitch candidate :
         {ThinkingSwitch::kEnableThinking, ThinkingSwitch::kThinking, ThinkingSwitch::kReasoningEffort}) {
      const bool is_effort = candidate == ThinkingSwitch::kReasoningEffort;
      const std::string_view name = to_string(candidate);
      const auto thinking = text(with(name, is_effort ? Json("high") : Json(true)));
      const auto quiet = text(with(name, is_effort ? Json("low") : Json(false)));
      if (!thinking || !quiet || thinking == quiet) continue;
      found_.thinking_switch = candidate;
      found_.thinks_by_default = by_default == thinking;
      on = with(name, is_effort ? Json("high") : Json(true));
      break;
    }
    if (const auto pieces = render(on)) found_.opened_thinking = opened_thinking_tag(*pieces);
    if (found_.thinking_switch == ThinkingSwitch::kReasoningEffort) {
      const auto pieces = render(plain);
      found_.thinks_by_default = pieces && opened_thinking_tag(*pieces) == found_.opened_thinking;
      probe_efforts(plain);
    }
    if (found_.thinking_switch == ThinkingSwitch::kNone) found_.thinks_by_default = !found_.opened_thinking.empty();
  }

  // Words that change the text, or are written into it, where not every word is.
  void probe_efforts(Json variables) {
    const auto with = [&](std::string_view word) {
      variables[to_string(ThinkingSwitch::kReasoningEffort)] = word;
      return text(variables);
    };
    const auto unknown = with(kUnknownEffort);
    if (unknown && contains(*unknown, kUnknownEffort)) return;
    for (const std::string_view word : {"none", "no_think", "minimal", "low", "medium", "high", "xhigh", "max"}) {
      const auto known = with(word);
      if (known && (known != unknown || contains(*known, word))) found_.efforts.emplace_back(word);
    }
  }

  const ChatTemplate& template_;
  const TemplateContext& context_;
  TemplateCapabilities found_;
  bool needs_extras_ = false;  // renders nothing without tools and documents
};

}  // namespace

std::string_view to_string(ThinkingSwitch value) noexcept {
  switch (value) {
    case ThinkingSwitch::kNone: return "";
    case ThinkingSwitch::kEnableThinking: return "enable_thinking";
    case ThinkingSwitch::kThinking: return "thinking";
    case ThinkingSwitch::kReasoningEffort: return "reasoning_effort";
  }
  return "";
}

Result<TemplateCapabilities> probe(const ChatTemplate& chat_template, const TemplateContext& context) {
  return Prober(chat_template, context).run();
}

std::string_view opened_thinking_tag(std::span<const text::TextPiece> prompt) {
  static constexpr std::string_view kTags[] = {"<think>",
                                               "<thinking>",
                                               "<thought>",
                                               "<reasoning>",
                                               "[THINK]",
                                               "<|START_THINKING|>",
                                               "<|begin_of_thought|>",
                                               "<seed:think>",
                                               "<think:opensource>"};
  if (prompt.empty() || !prompt.back().trusted) return {};
  std::string_view end = prompt.back().text;
  end.remove_suffix(end.size() - (end.find_last_not_of(" \t\r\n") + 1));
  for (const std::string_view tag : kTags) {
    if (end.ends_with(tag)) return tag;
  }
  return {};
}

}  // namespace millrace::chat
