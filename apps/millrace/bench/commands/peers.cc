#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "bench/load/system_under_test.h"
#include "cli.h"
#include "command.h"

namespace millrace::bench::commands {
namespace {

int peers(const std::vector<std::string>& arguments) {
  const auto script = std::filesystem::path(MILLRACE_PEERS) / "compare";  // in the tree this was built from
  if (!std::filesystem::exists(script)) {
    throw_load_error(ErrorCode::kNotFound, "peers", "{}: is not there; bench/peers of the sources has it",
                     script.string());
  }
  const std::string program = own_path();
  std::vector<std::string> words = {"python3", script.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.begin() + 2, {"--program", program});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw_load_error(ErrorCode::kNotFound, "peers", "python3: {}", std::strerror(errno));
}

}  // namespace

app::Command peers() {
  return {
      .name = "peers",
      .summary = "Compare millrace with llama.cpp, vLLM, OpenVINO GenAI and Transformers on the same model, in turn",
      .configure = [](CLI::App& app) -> std::function<int()> {
        app.prefix_command();
        app.set_help_flag();
        app.footer("Arguments: those of bench/peers/compare; --help lists them, --setup installs peers from PyPI.");
        return [&app] { return peers(app.remaining()); };
      },
      .example = "millrace bench peers --help"};
}

}  // namespace millrace::bench::commands
