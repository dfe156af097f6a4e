#include "configuration.h"
#include "cli.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "base/env.h"
#include "did_you_mean.h"
#include "old_flags.h"
#include "option_facts.h"
#include "option_heading.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxFileBytes = 1 << 20;
constexpr const char* kFile = "--config";
constexpr const char* kPrint = "--print-config";
constexpr const char* kSecret = "api-key";

std::string with_dashes(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

// As a file names it: "max-model-len".
std::string key_of(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return names.empty() ? option.get_single_name() : names.front();
}

bool is_setting(const CLI::Option& option) {
  const std::string key = key_of(option);
  return key != "help" && key != "help-all" && key != "config" && key != "print-config";
}

// The option that a key of the file means, under any of its names, with dashes or underscores; null where there is
// none.
CLI::Option* find(CLI::App& command, const std::string& key) {
  const std::string flag = "--" + with_dashes(key);
  for (CLI::Option* option : command.get_options([](const CLI::Option* one) { return is_setting(*one); })) {
    if (option->check_name(flag) || with_dashes(key_of(*option)) == with_dashes(key)) return option;
  }
  return nullptr;
}

std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* one) { return is_setting(*one); })) {
    if (option->get_lnames().empty()) keys.push_back(key_of(*option));
    keys.insert(keys.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return keys;
}

void set(CLI::Option& option, const CLI::ConfigItem& item, const std::string& file) {
  try {
    const bool flag = option.get_items_expected_max() == 0;
    for (const std::string& value : item.inputs) {
      option.add_result(flag ? option.get_flag_value(with_dashes(item.name), value) : value);
    }
    option.run_callback();
  } catch (const CLI::Error& error) {
    throw_load_error(ErrorCode::kInvalidArgument, item.name, "{}: {}: {}", file, item.name, error.what());
  }
}

void read_file_into(CLI::App& command, const std::string& path) {
  std::istringstream text(read_file(Env::system(), path, kMaxFileBytes).or_throw());
  std::vector<CLI::Option*> given;  // by the command line or a variable: those win
  for (CLI::Option* option : command.get_options()) {
    if (option->count() > 0) given.push_back(option);
  }
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    if (item.name == "++" || item.name == "--") continue;  // a section begins, or ends
    if (!item.parents.empty() && item.parents.front() != command.get_name()) continue;
    CLI::Option* option =
        item.parents.size() > 1 ? nullptr : find(command, with_current_key(path, with_dashes(item.name)));
    if (option == nullptr) {
      throw_load_error(ErrorCode::kInvalidArgument, item.name, "{}: {}: {} has no such option{}", path, item.fullname(),
                       command.get_name(), did_you_mean(with_dashes(item.name), keys_of(command)));
    }
    if (std::ranges::find(given, option) == given.end()) set(*option, item, path);
  }
}

std::string value_text(const std::string& value) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool plain =
      (error == std::errc() && end == value.data() + value.size()) || value == "true" || value == "false";
  return plain ? value : "\"" + value + "\"";
}

void print(CLI::App& command) {
  fmt::print("[{}]\n", command.get_name());
  for (CLI::Option* option : command.get_options()) {
    if (!is_setting(*option)) continue;
    const std::string key = key_of(*option);
    if (option->count() == 0) {
      option->capture_default_str();
      fmt::print("# {} = {}\n", key, value_text(option->get_default_str()));
    } else if (key == kSecret) {
      fmt::print("# {} is set\n", key);
    } else if (option->get_items_expected_max() > 1) {
      std::string values;
      for (const std::string& value : option->results()) values += (values.empty() ? "" : ", ") + value_text(value);
      fmt::print("{} = [{}]\n", key, values);
    } else {
      fmt::print("{} = {}\n", key, value_text(option->results().back()));
    }
  }
}

}  // namespace

void declare_configuration(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (is_setting(*option) && option->get_envname().empty()) option->envname(own_variable(*option));
  }
  const OptionHeading heading(command, "Settings");
  command
      .add_option(kFile,
                  "Read options from this TOML or INI file: name = value, optionally under [COMMAND]; the command "
                  "line and environment variables take precedence. Each option also has a variable: that of "
                  "--max-num-seqs is MILLRACE_MAX_NUM_SEQS")
      ->type_name("FILE");
  command.add_flag(kPrint)->description("Print the effective settings in the format of --config and exit");
}

bool apply_configuration(CLI::App& command) {
  const CLI::Option* file = command.get_option(kFile);
  if (file->count() > 0) read_file_into(command, file->results().back());
  if (command.get_option(kPrint)->count() == 0) return false;
  print(command);
  return true;
}

}  // namespace millrace::app
