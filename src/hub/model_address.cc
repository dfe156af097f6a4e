#include "hub/model_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/lower_case.h"

namespace millrace::hub {
namespace {

constexpr std::string_view kHosts[] = {"huggingface.co", "www.huggingface.co", "hf.co"};

struct OtherSource {
  std::string_view begins;  // with
  std::string_view instead;
};
constexpr OtherSource kSources[] = {
    {"ollama://", "names of ollama's library mean nothing here; write org/name[:quantization] of the Hugging Face hub"},
    {"registry.ollama.ai/", "ollama's library is not read; write org/name[:quantization] of the Hugging Face hub"},
    {"ollama.com/", "ollama's library is not read; write org/name[:quantization] of the Hugging Face hub"},
    {"docker.io/", "no registry of containers is read; write org/name[:quantization] of the Hugging Face hub"},
    {"ghcr.io/", "no registry of containers is read; write org/name[:quantization] of the Hugging Face hub"},
    {"quay.io/", "no registry of containers is read; write org/name[:quantization] of the Hugging Face hub"},
    {"docker://", "no registry of containers is read; write org/name[:quantization] of the Hugging Face hub"},
    {"oci://", "no registry of containers is read; write org/name[:quantization] of the Hugging Face hub"},
    {"modelscope.cn/", "ModelScope is not read; write org/name of the Hugging Face hub, which has most of its models"},
    {"ms://", "ModelScope is not read; write org/name of the Hugging Face hub, which has most of its models"},
    {"s3://", "no object store is read; copy the model into a directory and write its path"},
    {"gs://", "no object store is read; copy the model into a directory and write its path"},
    {"az://", "no object store is read; copy the model into a directory and write its path"},
    {"file://", "write the path alone"},
};

// Families that ollama names without an organisation.
constexpr std::string_view kOllamaFamilies[] = {
    "llama",   "mistral",   "mixtral", "ministral", "magistral",      "devstral",         "codestral", "qwen",
    "qwq",     "gemma",     "phi",     "deepseek",  "tinyllama",      "codellama",        "codegemma", "smollm",
    "gpt-oss", "command-r", "granite", "olmo",      "vicuna",         "starcoder",        "falcon",    "dolphin",
    "zephyr",  "orca",      "llava",   "stablelm",  "hermes",         "nomic-embed",      "mxbai",     "all-minilm",
    "bge-",    "yi:",       "exaone",  "cogito",    "embeddinggemma", "snowflake-arctic", "wizard",    "openchat",
};

// With the slashes that an address escapes within a name: "refs%2Fpr%2F1".
std::string with_slashes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = lower_case(text.substr(i, 3)) == "%2f";
    out += escaped ? '/' : text[i];
    if (escaped) i += 2;
  }
  return out;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(with_slashes(path.substr(0, slash)));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < parts.size(); ++i) text += (i == from ? "" : "/") + parts[i];
  return text;
}

bool is_web(std::string_view text) { return text.starts_with("https://") || text.starts_with("http://"); }

Error no_model(std::string_view why) { return make_error(ErrorCode::kUnsupported, "model", "{}", why); }

}  // namespace

std::optional<std::string> path_on_hub(std::string_view text) {
  if (is_web(text)) text.remove_prefix(text.find("//") + 2);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos ||
      std::ranges::find(kHosts, lower_case(text.substr(0, slash))) == std::end(kHosts)) {
    return std::nullopt;
  }
  text.remove_prefix(slash + 1);
  text = text.substr(0, text.find_first_of("?#"));
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

Result<std::string> reference_of_page(std::string_view path) {
  std::vector<std::string> parts = split(path);
  if (parts.empty()) return no_model("the address names no model");
  if (parts[0] == "datasets" || parts[0] == "spaces") return no_model("a page of " + parts[0] + ", not of a model");
  if (parts.size() <= 2) return std::string(path);
  const std::string name = parts[0] + "/" + parts[1], &kind = parts[2];
  if (kind == "tree") {
    // A revision may have slashes as well ("refs/pr/1"); what else follows it is a folder.
    const bool pull_request = parts.size() == 6 && parts[3] == "refs";
    if (parts.size() == 4 || pull_request) return name + "@" + joined(parts, 3);
    if (parts.size() == 3) return name;
    return no_model("a folder of a repository; write org/name:file.gguf for one of its files");
  }
  if (kind != "blob" && kind != "resolve" && kind != "raw") {
    return no_model("no page of a repository, a revision (/tree/REVISION) or a .gguf file (/blob/REVISION/FILE)");
  }
  if (parts.size() < 5 || !parts.back().ends_with(".gguf")) return no_model("not a .gguf file of a repository");
  return name + ":" + joined(parts, 4) + "@" + parts[3];
}

std::optional<std::string> other_source(std::string_view text) {
  const std::string lower = lower_case(text);
  const std::string_view address = is_web(lower) ? std::string_view(lower).substr(lower.find("//") + 2) : lower;
  for (const OtherSource& source : kSources) {
    if (address.starts_with(source.begins)) return std::string(source.instead);
  }
  if (path_on_hub(text)) return std::nullopt;
  if (is_web(text)) {
    return "only addresses of huggingface.co are read; download the file and write its path, or set HF_ENDPOINT to a "
           "mirror of the hub and write org/name";
  }
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || text.starts_with("hf://")) return std::nullopt;
  return fmt::format("{}:// is not known; write org/name[:quantization] of the Hugging Face hub, or a path",
                     text.substr(0, scheme));
}

std::optional<std::string> ollama_name(std::string_view text) {
  const std::string name = lower_case(text.substr(0, text.find_first_of(":@")));
  const std::string whole = lower_case(text);
  const bool family =
      std::ranges::any_of(kOllamaFamilies, [&](std::string_view one) { return whole.starts_with(one); });
  if (name.find('/') != std::string::npos || !family) return std::nullopt;
  return fmt::format(
      "a short name of ollama's library; models are named org/name[:quantization] here, as on the Hugging Face hub: "
      "see "
      "https://huggingface.co/models?search={}+gguf",
      name);
}

}  // namespace millrace::hub
