#include <cstdio>
#include <string>

#include "base/error.h"
#include "cli.h"
#include "command.h"
#include "completion/script.h"

namespace millrace::commands {
namespace {

int completion(const CLI::App& app, const std::string& shell) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  const std::string script = shell == "bash"  ? app::completion::bash_script(*root)
                             : shell == "zsh" ? app::completion::zsh_script(*root)
                                              : app::completion::fish_script(*root);
  std::fwrite(script.data(), 1, script.size(), stdout);
  return 0;
}

}  // namespace

app::Command completion() {
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto shell = std::make_shared<std::string>();
            app.add_option("shell", *shell, "Shell that the script is for: bash, zsh or fish")
                ->required()
                ->check(CLI::IsMember({"bash", "zsh", "fish"}));
            return [shell, &app] { return completion(app, *shell); };
          },
          .example = "source <(millrace completion bash)"};
}

}  // namespace millrace::commands
