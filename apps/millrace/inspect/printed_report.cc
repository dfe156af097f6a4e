#include "inspect/printed_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "fact_lines.h"
#include "printable.h"
#include "progress.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes(const Json& value) { return readable_bytes(value.get<double>()); }

void print_formats(const Json& formats) {
  std::printf("\n%-10s %8s %14s %10s %6s\n", "format", "tensors", "values", "bytes", "bits");
  for (const Json& f : formats) {
    std::printf("%-10s %8lld %14lld %10s %6.2f\n", f["format"].get<std::string>().c_str(),
                f["tensors"].get<long long>(), f["values"].get<long long>(), bytes(f["bytes"]).c_str(),
                8.0 * f["bytes"].get<double>() / std::max(1.0, f["values"].get<double>()));
  }
}

void print_tokenizer(const Json& t) {
  if (t.is_null()) return print_fact("tokenizer", "none");
  const auto token = [](const Json& json) {
    return json.is_null() ? "-" : shown(json["text"]) + " (" + shown(json["id"]) + ")";
  };
  print_fact("tokenizer", fmt::format("{}, {} tokens, {} special", shown(t["kind"]), t["tokens"].get<int>(),
                                      t["special_tokens"].get<int>()));
  std::string ends;
  for (const Json& end : t["end_of_generation"]) ends += (ends.empty() ? "" : ", ") + token(end);
  print_fact("specials",
             fmt::format("bos {}{}, eos {}; an answer ends at {}", token(t["bos"]),
                         t["adds_bos"].get<bool>() ? " (added)" : "", token(t["eos"]), ends.empty() ? "-" : ends));
}

void print_memory(const Json& m) {
  if (m.is_null()) return;
  const Json& kv = m["kv_bytes_per_token"];
  std::string of_encodings;
  for (const auto& [encoding, taken] : kv.items()) {
    of_encodings += fmt::format("{}{} {}", of_encodings.empty() ? "" : ", ", encoding, bytes(taken));
  }
  print_fact("kv per token", of_encodings);
  if (!m["quantization"].is_null()) print_fact("loaded as", shown(m["quantization"]));
  print_fact("memory",
             fmt::format("{} = weights {} ({}) + kv {} ({}, {} tokens) + workspace {}; {} available", bytes(m["total"]),
                         bytes(m["weights"]), shown(m["isa"]), bytes(m["kv"]), shown(m["kv_cache_dtype"]),
                         m["tokens"].get<std::int64_t>(), bytes(m["workspace"]), bytes(m["available"])));
}

void print_ranks(const Json& group) {
  const int stages = group["stages"].get<int>();
  std::printf("\n%d ranks %s, balance %.3f\n", group["size"].get<int>(),
              stages == 1 ? "by tensor parallelism" : fmt::format("in {} stages", stages).c_str(),
              group["balance"].get<double>());
  std::printf("%4s %8s %9s %10s %10s %12s %8s\n", "rank", "share %", "layers", "weights", "read", "kv per token",
              "work %");
  int rank = 0;
  for (const Json& r : group["ranks"]) {
    const std::int64_t last = r["layers"][1].get<std::int64_t>() - 1;
    std::printf("%4d %8.2f %9s %10s %10s %12s %8.2f\n", rank++, 100.0 * r["share"].get<double>(),
                fmt::format("{}-{}", r["layers"][0].get<std::int64_t>(), last).c_str(), bytes(r["weights"]).c_str(),
                bytes(r["read"]).c_str(), bytes(r["kv_bytes_per_token"]).c_str(), 100.0 * r["work"].get<double>());
  }
  if (!group.contains("predicted")) return;
  const Json& predicted = group["predicted"];
  std::printf("\npredicted on %s, %.1f us and %.1f GB/s between ranks\n",
              predicted["hosts"] == 1 ? "one host" : (predicted["hosts"].dump() + " hosts").c_str(),
              predicted["link"]["latency_us"].get<double>(), predicted["link"]["gb_per_s"].get<double>());
  std::printf("%-24s %14s %10s %13s %6s\n", "step", "one process ms", "ranks ms", "exchanges ms", "speed");
  for (const Json& step : predicted["steps"]) {
    const double one = step["one_ms"].get<double>(), ranks = step["ranks_ms"].get<double>();
    std::printf("%-24s %14.2f %10.2f %13.2f %6.2f\n", step["step"].get<std::string>().c_str(), one, ranks,
                step["exchanges_ms"].get<double>(), one / ranks);
  }
}

void print_generation(const Json& generation) {
  std::string text;
  for (const auto& [key, value] : generation.items()) {
    if (!value.is_null()) text += (text.empty() ? "" : ", ") + key + " " + value.dump();
  }
  print_fact("generation", text);
}

void print_template(const std::string& text) {
  constexpr std::size_t kShown = 3, kColumns = 100;
  if (text.empty()) return;
  std::printf("\nchat template (%zu bytes; --template prints it):\n", text.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < kShown && at < text.size(); ++i) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string row = text.substr(at, std::min(end - at, kColumns));
    std::printf("  %s%s\n", printable(row).c_str(), end - at > kColumns ? "..." : "");
    at = end + 1;
  }
}

// A number, or the least and the most of a list by layer.
std::string range(const Json& value) {
  if (!value.is_array()) return shown(value);
  const auto [least, most] = std::ranges::minmax(value.get<std::vector<std::int64_t>>());
  return fmt::format("{} to {}", least, most);
}

void print_rope(const Json& rope) {
  print_fact("rope",
             fmt::format("theta {}, {} dimensions, scaling {}{}", shown(rope["theta"]), shown(rope["dimensions"]),
                         shown(rope["scaling"]), rope.contains("factor") ? " by " + shown(rope["factor"]) : ""));
}

// "24 layers of 32, 8 chosen, ffn 512", and what steps read of them.
void print_experts(const Json& e, const Json& memory) {
  const std::string shared = e["shared_ffn"] == 0 ? "" : fmt::format(", shared ffn {}", shown(e["shared_ffn"]));
  print_fact("experts", fmt::format("{} layers of {}, {} chosen, ffn {}{}", shown(e["layers"]), shown(e["experts"]),
                                    shown(e["chosen"]), shown(e["ffn"]), shared));
  for (const Json& step : e["steps"]) {
    const double part = step["touched"].get<double>() / e["experts"].get<double>();
    print_fact("", fmt::format("a step of {} {} reads about {:.1f} in each layer: {} of {}", shown(step["tokens"]),
                               step["tokens"] == 1 ? "token" : "tokens", step["touched"].get<double>(),
                               bytes(part * memory["experts"].get<double>()), bytes(memory["experts"])));
  }
}

// What the configuration says.
void print_configuration(const Json& r) {
  const Json& s = r["shape"];
  const Json& p = r["parameters"];
  print_fact("path", shown(r["path"]));
  print_fact("container", shown(r["container"]));
  print_fact("name", shown(r["name"]));
  print_fact("architecture", shown(r["architecture"]) + " (family " + shown(r["family"]) + ")");
  print_fact("parameters", fmt::format("{:.1f} M ({} M without the embedding), {}", p["total"].get<double>() / 1e6,
                                       p["without_embedding"].is_null()
                                           ? "-"
                                           : fmt::format("{:.1f}", p["without_embedding"].get<double>() / 1e6),
                                       bytes(p["bytes"])));
  if (!r["weights"].is_null()) print_weights(r["weights"]);
  const std::string values =
      s["value_dim"] == s["head_dim"] ? "" : fmt::format(" (values of {})", range(s["value_dim"]));
  print_fact("shape", fmt::format("{} layers, hidden {}, {} heads of {}{}, {} kv heads, ffn {}, vocabulary {}{}",
                                  shown(s["layers"]), shown(s["hidden_size"]), range(s["heads"]), range(s["head_dim"]),
                                  values, range(s["kv_heads"]), range(s["ffn"]), shown(s["vocab_size"]),
                                  s["tied_head"].get<bool>() ? ", tied head" : ""));
  if (!s["experts"].is_null()) print_experts(s["experts"], r["memory"]);
  const bool some = s["sliding_window_layers"] != 0 && s["sliding_window_layers"] != s["layers"];
  print_fact("context", fmt::format("{} tokens, sliding window {}{}", shown(s["context_length"]),
                                    s["sliding_window"] == 0 ? "none" : shown(s["sliding_window"]),
                                    some ? " in " + shown(s["sliding_window_layers"]) + " layers" : ""));
  if (!s["rope"].is_null()) print_rope(s["rope"]);
  for (const Json& rope : s["further_ropes"]) print_rope(rope);
}

void print_tensors(const Json& tensors) {
  std::printf("\n%-40s %-8s %-18s %s\n", "tensor", "format", "shape", "bytes");
  for (const Json& tensor : tensors) {
    std::printf("%-40s %-8s %-18s %s\n", shown(tensor["name"]).c_str(), tensor["format"].get<std::string>().c_str(),
                tensor["shape"].dump().c_str(), tensor["bytes"].dump().c_str());
  }
}

}  // namespace

void print_weights(const Json& weights) {
  print_fact("weights", fmt::format("{}; {:.2f} bits a weight", shown(weights["format"]),
                                    weights["bits_per_weight"].get<double>()));
  if (!weights["maker"].is_null()) print_fact("made by", shown(weights["maker"]));
  if (!weights["calibration"].is_null()) print_fact("calibration", shown(weights["calibration"]));
}

void print_report(const Json& report) {
  print_configuration(report);
  print_tokenizer(report["tokenizer"]);
  print_memory(report["memory"]);
  print_generation(report["generation"]);
  for (const Json& warning : report["warnings"]) print_fact("warning", shown(warning));
  print_formats(report["formats"]);
  print_template(report["chat_template"].get<std::string>());
  if (report.contains("tensors")) print_tensors(report["tensors"]);
  if (report.contains("tensor_parallel")) print_ranks(report["tensor_parallel"]);
}

}  // namespace millrace::app
