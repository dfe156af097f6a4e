#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace millrace::api {

// Plain data: what a model is loaded with, and how an engine serves. A value that is out of range is an error of
// Model::load() or Engine::create() that names the field, the value and the limit. Names and meanings are those of the
// flags of `millrace serve`.

struct ModelConfig {
  std::string path = {};                  // a .gguf file, or a directory with config.json and weights
  std::string device = "cpu";             // as `millrace serve --help` lists them
  int threads = 0;                        // [0, 1024]; 0 = as many as CPU affinity and the cgroup quota allow
  std::string cpu_isa = {};               // "scalar", "avx2", "avx_vnni", "avx512_vnni", "avx512_bf16"; "" = the best
  std::string kv_cache_dtype = "bf16";    // "bf16", "f16", "f32", "int8"
  std::string kv_layout = "paged32";      // "paged32", "token", "vector16"
  std::int64_t block_size = 0;            // tokens of a page, [0, 1024]; 0 = the layout's own
  std::string matmul_precision = "auto";  // "auto", "int8x2", "bf16", "f32"
  std::int64_t max_model_len = 0;         // tokens of a sequence, [0, 2^24]; 0 = the model's own
  std::string packed_cache = "auto";      // of packed weights: "auto", "off", or a directory
  std::uint64_t packed_cache_limit = std::uint64_t{64} << 30;  // bytes there; the least recently used go first
};

struct EngineConfig {
  // Scheduling (docs/scheduling.md)
  std::int64_t max_num_batched_tokens = 512;       // computed in a step, [1, 2^20]
  std::int64_t max_num_seqs = 64;                  // requests that advance together, [1, 2^16]
  std::int64_t long_prefill_token_threshold = 0;   // of one prompt a step, [0, 2^32]; 0 = limited by the step alone
  std::string scheduling_policy = "decode-first";  // a name of docs/scheduling.md
  std::string batching = "continuous";             // "continuous", "dynamic", "static"
  double batch_wait_ms = 50.0;                     // that a batch of "dynamic" or "static" fills up, [0, 1e6]
  double tpot_target_ms = 0.0;                     // of a step that decodes, [0, 1e6]; 0 = none
  std::string preemption_mode = "auto";            // "auto", "recompute", "swap"

  // Memory of keys and values: at most one of the first two is given; neither: 1 GiB
  std::int64_t kv_cache_tokens = 0;                           // [0, 2^32]
  std::uint64_t kv_cache_memory_bytes = 0;                    // what drafting keeps beside included
  bool prefix_caching = true;                                 // requests share the pages of equal beginnings
  std::uint64_t swap_space = 0;                               // bytes of host memory for preempted requests; 0 = none
  std::string kv_disk_tier = "off";                           // pages for the next start: "off", "auto", or a directory
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;  // bytes there; the least recently used go first

  // Speculation (docs/draft.md)
  std::string spec_method = "none";   // "none", or a name of docs/draft.md
  std::string spec_model = {};        // path of the draft model, or of the directory of heads
  std::string spec_rule = "coupled";  // "coupled" gives the tokens that there would be without drafts
  std::int64_t spec_tokens = 16;      // drafted for a request a step at most, [1, 64]
  int spec_branches = 1;              // of the draft tree at most, [1, 4]
  bool spec_adaptive = true;          // no more of them than measurements show to be faster
  bool jump_forward = true;           // what a grammar leaves no choice about is drafted

  // Options of policies and methods by name, as docs/scheduling.md and docs/draft.md have them: {"ngram_max", 4.0}.
  // Switches are 0.0 and 1.0. A name that no policy or method has is an error.
  std::map<std::string, std::variant<double, std::string>> options = {};

  double slow_reader_ms = 30'000.0;  // a stream that is not read from for so long is cancelled; (0, 1e9]
};

}  // namespace millrace::api
