#include "help_page.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli.h"
#include "option_facts.h"
#include "text_columns.h"

namespace millrace::app {
namespace {

bool is_command(const CLI::App* app) { return !app->get_name().empty() && !app->get_group().empty(); }

using Options = std::vector<const CLI::Option*>;
struct Section {
  std::string heading;
  Options options;
};

void add_options(const CLI::App& app, const std::string& other_heading, std::vector<Section>& sections) {
  for (const CLI::Option* option : app.get_options()) {
    const bool help = option == app.get_help_ptr() || option == app.get_help_all_ptr();
    if (!option->nonpositional() || option->get_group().empty() || (help && !other_heading.empty())) continue;
    const std::string heading = help || option == app.get_version_ptr() ? "Help"
                                : other_heading.empty()                 ? option->get_group()
                                                                        : other_heading;
    auto found = std::ranges::find(sections, heading, &Section::heading);
    if (found == sections.end()) found = sections.insert(sections.end(), {heading, {}});
    found->options.push_back(option);
  }
}

// What can be set first, --help last.
std::vector<Section> sections_of(const CLI::App& app) {
  std::vector<Section> sections;
  add_options(app, "", sections);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
    add_options(*group, group->get_group(), sections);
  }
  std::ranges::stable_partition(sections, [](const Section& section) { return section.heading != "Help"; });
  return sections;
}

class HelpPage final : public CLI::FormatterBase {
 public:
  explicit HelpPage(std::size_t width) : width_(width) {}

  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    std::string text = wrapped(app->get_description(), width_) + "\n";
    text += wrapped("Usage: " + usage(*app), width_, 2);
    std::vector<TextRow> arguments;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) arguments.push_back({argument_name(*option), text_of(*option, *app)});
    }
    text += list("Arguments", arguments);
    for (const Section& section : sections_of(*app)) {
      std::vector<TextRow> rows;
      for (const CLI::Option* option : section.options) rows.push_back({option_names(*option), text_of(*option, *app)});
      text += list(section.heading, rows);
    }
    std::vector<TextRow> commands;
    for (const CLI::App* sub : app->get_subcommands(is_command)) {
      commands.push_back({sub->get_name(), sub->get_description()});
    }
    text += list("Commands", commands);
    if (!app->get_footer().empty()) text += "\n" + with_lines_wrapped(app->get_footer(), width_);
    if (mode == CLI::AppFormatMode::All) {
      for (const CLI::App* sub : app->get_subcommands(is_command)) {
        text += "\n\n" + make_help(sub, sub->get_name(), mode);
      }
    }
    return text;
  }

 private:
  static std::string usage(const CLI::App& app) {
    std::string words = app.get_name();
    for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
      words = above->get_name() + " " + words;
    }
    if (!sections_of(app).empty()) words += " [OPTIONS]";
    for (const CLI::Option* option : app.get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = argument_name(*option);
      words += option->get_required() ? " " + name : " [" + name + "]";
    }
    if (app.get_prefix_command()) words += " [ARGUMENTS]";
    return app.get_subcommands(is_command).empty() ? words : words + " COMMAND";
  }

  std::string list(const std::string& heading, const std::vector<TextRow>& rows) const {
    return rows.empty() ? "" : "\n" + wrapped(heading + ":", width_) + in_columns(rows, width_);
  }

  // The description and, in brackets, what else there is to know.
  static std::string text_of(const CLI::Option& option, const CLI::App& app) {
    const std::string notes = option_notes(option, app);
    return notes.empty() ? option.get_description() : fmt::format("{} [{}]", option.get_description(), notes);
  }

  const std::size_t width_;
};

}  // namespace

std::size_t help_width() {
  constexpr std::size_t kMin = 20, kUsual = 80, kMax = 4000;
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    std::from_chars(text.data(), text.data() + text.size(), width);
  }
  winsize window{};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) width = window.ws_col;
  return width == 0 ? kUsual : std::clamp(width, kMin, kMax);
}

std::shared_ptr<CLI::FormatterBase> help_page(std::size_t width) { return std::make_shared<HelpPage>(width); }

}  // namespace millrace::app
