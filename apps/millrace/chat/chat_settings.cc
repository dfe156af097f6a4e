#include "chat/chat_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "did_you_mean.h"

namespace millrace::app {
namespace {

using NamedValues = std::vector<std::string>;

const decode::SamplerOption* sampler_option(std::string_view name) {
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    if (option->spec.name == name) return option;
  }
  return nullptr;
}

template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Result<void> choose(std::string& to, std::string_view name, const std::string& value, const NamedValues& allowed) {
  if (std::ranges::find(allowed, value) == allowed.end()) {
    return make_error(ErrorCode::kInvalidArgument, std::string(name), "{} is '{}': must be {}", name, value,
                      fmt::join(allowed, ", "));
  }
  to = value;
  return {};
}

Result<void> switch_on_off(bool& to, std::string_view name, const std::string& value) {
  if (value != "on" && value != "off" && value != "true" && value != "false") {
    return make_error(ErrorCode::kInvalidArgument, std::string(name), "{} is '{}': must be on or off", name, value);
  }
  to = value == "on" || value == "true";
  return {};
}

Result<void> change_sampler(ChatSettings& settings, const OptionSpec& spec, const std::string& value) {
  const std::string name(spec.name);
  if (spec.kind == OptionSpec::Kind::kText) {
    settings.sampling.given.set(name, value);
    return {};
  }
  if (spec.kind == OptionSpec::Kind::kSwitch) {
    bool on = false;
    if (auto fine = switch_on_off(on, name, value); !fine) return fine;
    settings.sampling.given.set(name, on ? 1.0 : 0.0);
    return {};
  }
  const auto number = number_in<double>(value);
  const bool whole = spec.kind == OptionSpec::Kind::kWhole;
  if (!number || (whole && *number != static_cast<double>(static_cast<std::int64_t>(*number)))) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} is '{}': must be a {}, {}", name, value,
                      whole ? "whole number" : "number", spec.range());
  }
  if (auto fine = spec.check(name, *number); !fine) return fine;
  settings.sampling.given.set(name, *number);
  return {};
}

}  // namespace

std::vector<std::string> thinking_views() { return {"show", "fold", "hide"}; }
std::vector<std::string> context_full_choices() { return {"ask", "shift", "stop"}; }

ThinkingView ChatSettings::thinking_view() const {
  return thinking == "hide" ? ThinkingView::kHide : thinking == "fold" ? ThinkingView::kFold : ThinkingView::kShow;
}

OnContextFull ChatSettings::context_full(bool on_terminal) const {
  if (on_context_full.empty()) return on_terminal ? OnContextFull::kAsk : OnContextFull::kStop;
  if (on_context_full == "shift") return OnContextFull::kShift;
  return on_context_full == "ask" && on_terminal ? OnContextFull::kAsk : OnContextFull::kStop;
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names = {"max_tokens", "on_context_full", "seed", "stats", "thinking"};
  for (const decode::SamplerOption* option : decode::all_sampler_options()) names.emplace_back(option->spec.name);
  std::ranges::sort(names);
  return names;
}

Result<void> change_setting(ChatSettings& settings, std::string_view given_name, const std::string& value) {
  std::string name(given_name);
  std::ranges::replace(name, '-', '_');
  if (name == "thinking") return choose(settings.thinking, name, value, thinking_views());
  if (name == "on_context_full") return choose(settings.on_context_full, name, value, context_full_choices());
  if (name == "stats") return switch_on_off(settings.stats, name, value);
  if (name == "seed") {
    const auto seed = number_in<std::uint64_t>(value);
    if (!seed)
      return make_error(ErrorCode::kInvalidArgument, name, "seed is '{}': must be a whole number, at least 0", value);
    settings.sampling.seed = seed;
    return {};
  }
  if (name == "max_tokens") {
    const auto tokens = number_in<std::int64_t>(value);
    if (!tokens || *tokens < 1) {
      return make_error(ErrorCode::kInvalidArgument, name, "max_tokens is '{}': must be a whole number, at least 1",
                        value);
    }
    settings.sampling.max_tokens = tokens;
    return {};
  }
  if (const auto* option = sampler_option(name)) return change_sampler(settings, option->spec, value);
  const std::string meant = did_you_mean(name, setting_names());
  return make_error(ErrorCode::kInvalidArgument, name, "there is no setting '{}'{}", name,
                    meant.empty() ? "; /set lists them" : meant);
}

std::string list_settings(const ChatSettings& settings, const decode::SamplingParams& now) {
  std::string out;
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    if (!option->model_default && !settings.sampling.given.has(option->spec.name)) continue;
    out += fmt::format("{:<20} {}\n", option->spec.name, option->of(now));
  }
  const bool asks = settings.on_context_full.empty();
  out += fmt::format("{:<20} {}\n{:<20} {}\n", "seed", now.seed, "max_tokens", now.max_tokens);
  out += fmt::format("{:<20} {}\n{:<20} {}\n", "thinking", settings.thinking.empty() ? "show" : settings.thinking,
                     "stats", settings.stats ? "on" : "off");
  return out + fmt::format("{:<20} {}\n", "on_context_full", asks ? "ask" : settings.on_context_full);
}

}  // namespace millrace::app
