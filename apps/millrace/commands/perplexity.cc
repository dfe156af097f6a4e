#include "command.h"
#include "evaluation.h"

namespace millrace::commands {

app::Command perplexity() {
  return {.name = "perplexity",
          .summary = "Measure the perplexity of a model on a text file: an older name of eval",
          .configure = app::configure_evaluation,
          .example = "millrace perplexity default --file text.txt"};
}

}  // namespace millrace::commands
