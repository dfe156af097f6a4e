#include "foreign_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace millrace::app {
namespace {

struct Foreign {
  std::string_view names;       // separated by spaces
  std::string_view answer;      // {0}: the command as typed
  std::string_view where = {};  // the only command that it holds for; empty: all
};

// Sorted by what they are about.
constexpr Foreign kOptions[] = {
    // Which model.
    {"-m --model --model-path", "the model is the first argument: '{0} MODEL'"},
    {"-hf -hfr --hf-repo", "the model is the first argument: '{0} org/name:quantization'"},
    {"-hff --hf-file", "a file of a repository is named in the first argument: '{0} org/name:file.gguf'"},
    {"-mu --model-url",
     "the address of a .gguf file on the hub is the first argument: '{0} https://huggingface.co/...'"},
    {"--revision --code-revision", "the revision is part of the model's name: '{0} org/name@revision'"},
    {"-hft --hf-token", "the token is the environment variable HF_TOKEN"},
    {"--download-dir --models-dir", "the directory of downloaded models is the environment variable HF_HUB_CACHE"},
    {"--dtype --torch-dtype",
     "weights stay in the file's format; --matmul-precision and --kv-cache-dtype choose the rest"},
    // The machine.
    {"-ngl --gpu-layers --n-gpu-layers --device-map", "there are no layers to place: --device says what computes"},
    {"--split-mode -sm -ts --tensor-split --main-gpu -mg",
     "layers are not split over devices; --tensor-parallel-size shares all of them between processes"},
    {"-tb --threads-batch", "--threads holds for prompts and completions"},
    {"--mlock --no-mmap --mmap", "weights are packed into memory of their own; leave it out"},
    {"--numa", "threads stay where CPU affinity puts them: 'numactl millrace ...' places them"},
    {"-fa --flash-attn", "attention never stores its matrix, as flash attention; leave it out"},
    {"--enforce-eager --gpu-memory-utilization --block-manager",
     "memory for the KV cache is --kv-cache-memory-bytes; there are no graphs to capture"},
    // KV cache and scheduling.
    {"-ctk -ctv --cache-type-k --cache-type-v", "the data type of the KV cache is --kv-cache-dtype"},
    {"-np --parallel --max-batch-size", "the number of sequences that run at once is --max-num-seqs"},
    {"-b --batch-size -ub --ubatch-size", "the tokens of one step are --max-num-batched-tokens"},
    {"-cb --cont-batching", "requests always join the running batch; leave it out"},
    {"--enable-prefix-caching --cache-prompt --cache-reuse",
     "prompts that begin alike share their KV cache by default; leave it out"},
    {"--enable-chunked-prefill", "long prompts are always computed in chunks; leave it out"},
    {"-md --model-draft --draft-model", "the draft model is --spec-model, with --spec-method draft-model"},
    {"--draft --draft-max", "the number of draft tokens is --spec-tokens"},
    {"--speculative-config", "speculative decoding is --spec-method with the options that begin with --spec"},
    // Chat and sampling.
    {"-i --interactive --interactive-first -cnv --conversation", "'millrace run MODEL' without a prompt is a chat"},
    {"-st --single-turn -no-cnv", "'millrace run MODEL PROMPT' answers once"},
    {"-sys --system-prompt", "the system message is --system"},
    {"--predict --n-predict --num-predict --max-new-tokens", "the length of a completion is --max-tokens"},
    {"--jinja", "chat templates are always Jinja; leave it out"},
    {"--chat-template --chat-template-file", "the model's own chat template is used; another cannot be given yet"},
    {"--tokenizer --tokenizer-mode", "the model's own tokenizer is used"},
    {"--trust-remote-code", "no code of a repository is ever run; leave it out"},
    {"--temp --temperature --top-p --top-k --min-p --seed --repeat-penalty",
     "each request says how it is sampled: the field of this name in its body", "millrace serve"},
    // The server.
    {"--enable-auto-tool-choice", "tool calls are always recognised; --tool-call-parser names their format"},
    {"--embedding --embeddings", "/v1/embeddings is always served; leave it out"},
    {"--metrics", "/metrics is always served; leave it out"},
    {"--lora-scaled", "a request names the factors of its adapters in its field 'lora'"},
    {"--enable-lora", "adapters that --lora names are always served; leave it out"},
    {"--adapter --adapters --lora-paths", "adapters are named by --lora NAME=DIR"},
    {"--mmproj --limit-mm-per-prompt", "images are not supported yet"},
    {"--keepalive --keep-alive", "the time after which an idle model is unloaded is --model-idle-timeout"},
    {"--cors --cors-origins --allow-origin", "web pages of other origins are let in by --allowed-origins"},
    {"-v --verbose --verbosity",
     "more lines of log: 'millrace --log-level debug COMMAND'; the version: 'millrace --version'"},
};

struct OwnCommand {
  std::string_view words, own;
};
constexpr OwnCommand kCommands[] = {
    {"chat generate complete ask prompt cli", "run"},
    {"server start api openai-server", "serve"},
    {"download fetch get install", "pull"},
    {"ls models", "list"},
    {"remove delete uninstall", "rm"},
    {"info", "show"},
    {"benchmark", "bench"},
    {"tokens tokenizer", "tokenize"},
    {"ppl", "perplexity"},
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::optional<std::string> answer_to_foreign_option(std::string_view flag, std::string_view command) {
  for (const Foreign& foreign : kOptions) {
    if (!has_word(foreign.names, flag) || (!foreign.where.empty() && foreign.where != command)) continue;
    if (command.empty() && foreign.answer.find("{0}") != std::string_view::npos) continue;
    return fmt::format(fmt::runtime(foreign.answer), command);
  }
  return std::nullopt;
}

std::string_view own_command(std::string_view word) {
  const auto* const found =
      std::ranges::find_if(kCommands, [&](const OwnCommand& command) { return has_word(command.words, word); });
  return found == std::end(kCommands) ? std::string_view() : found->own;
}

bool hides_behind_help(std::string_view argument) {
  return argument.starts_with("-h") && argument.size() > 2 && answer_to_foreign_option(argument, kRun).has_value();
}

}  // namespace millrace::app
