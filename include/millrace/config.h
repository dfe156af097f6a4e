#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace millrace::api {

// Configurations of models and engines, as plain data. Names and meanings are those of the flags of `millrace serve`.
// Model::load() and Engine::create() return kInvalidArgument for a value that is out of range; the error names the
// field, the value and the limit.

struct ModelConfig {
  std::string path = {};       // a .gguf file, or a directory with config.json and weights
  std::string device = "cpu";  // a device that `millrace serve --help` lists
  int threads = 0;             // worker threads, [0, 1024]; 0 = as many as CPU affinity and the cgroup quota allow
  std::string cpu_isa = {};    // "scalar", "avx2", "avx_vnni", "avx512_vnni", "avx512_bf16"; "" = the best
  // "bf16", "f16", "f32", "int8", "fp8_e4m3", "k8v4", "int4" (docs/kv.md)
  std::string kv_cache_dtype = "bf16";
  std::string kv_exceptions = {};     // layers stored otherwise: "0-1:bf16,5:int8"; "" = none
  std::string kv_layout = "paged32";  // "paged32", "token", "vector16"
  std::int64_t block_size = 0;        // tokens of a page, [0, 1024]; 0 = the layout's default
  // What loading makes of weights in f32, f16, bf16 or FP8: "q8_0", "q6_k", "q5_k", "q4_k", "q4_0", "q4_1", "int4-g64",
  // "int4-g128", "w8a8", "nf4", "mxfp4", "fp8", "auto" (what fits `memory` with the least error), or a method that the
  // checkpoint has to be of; "" leaves them.
  std::string quantization = {};
  std::string imatrix = {};        // file of an importance matrix, which weighs what that rounding loses; "" = none
  std::string iq_panels = "auto";  // of GGUF's iq1, iq2 and iq3 weights: "fast", "compact", or what fits
  std::uint64_t memory = 0;  // bytes for weights, workspace, and keys and values of a sequence; 0: what is available
  std::string matmul_precision = "auto";  // "auto", "int8x2", "bf16", "f32"
  std::int64_t max_model_len = 0;         // limit of tokens of a sequence, [0, 2^24]; 0 = the model's
  // Where packed weights are kept for a faster next start: "auto" (in the cache directory, large models only), "off",
  // or a directory.
  std::string packed_cache = "auto";
  std::uint64_t packed_cache_limit = std::uint64_t{64} << 30;  // bytes; least recently used weights are deleted first
};

struct EngineConfig {
  // Scheduling (docs/scheduling.md)
  std::int64_t max_num_batched_tokens = 512;       // limit of tokens computed in a step, [1, 2^20]
  std::int64_t max_num_seqs = 64;                  // limit of requests that run together, [1, 2^16]
  std::int64_t long_prefill_token_threshold = 0;   // limit of tokens of one prompt in a step, [0, 2^32]; 0 = none
  std::string scheduling_policy = "decode-first";  // a name in docs/scheduling.md
  std::string batching = "continuous";             // "continuous", "dynamic", "static"
  double batch_wait_ms = 50.0;                     // time that a "dynamic" or "static" batch waits to fill up, [0, 1e6]
  double tpot_target_ms = 0.0;                     // target of steps that decode, in milliseconds, [0, 1e6]; 0 = none
  std::string preemption_mode = "auto";            // "auto", "recompute", "swap"

  // Size of the KV cache. At most one of the first two is above 0; both 0: 1 GiB.
  std::int64_t kv_cache_tokens = 0;         // [0, 2^32]
  std::uint64_t kv_cache_memory_bytes = 0;  // pages of a draft model or speculator included
  bool prefix_caching = true;               // requests share the pages of common prefixes
  std::uint64_t swap_space = 0;             // bytes of host memory for preempted requests; 0 = none
  std::string kv_disk_tier = "off";         // KV pages kept for the next start: "off", "auto", a directory
  std::uint64_t kv_disk_tier_limit = std::uint64_t{8} << 30;  // bytes; least recently used pages are deleted first

  // Speculation (docs/draft.md)
  std::string spec_method = "none";   // "none", or a name in docs/draft.md
  std::string spec_model = {};        // path of the draft model, or directory of the speculator
  std::string spec_rule = "coupled";  // verification rule; "coupled" gives the same tokens as without speculation
  std::int64_t spec_tokens = 16;      // limit of draft tokens of a request in a step, [1, 64]
  int spec_branches = 1;              // limit of branches of a draft tree, [1, 4]; only "coupled" uses more than 1
  bool spec_adaptive = true;          // verify only as many draft tokens as measurements show to be faster
  bool jump_forward = true;           // draft the tokens that a grammar forces

  // Options of scheduling policies, admission limits and drafters by the names in docs/scheduling.md and docs/draft.md:
  // {"ngram_max", 4.0}. Switches are 0.0 or 1.0. An unknown name is an error.
  std::map<std::string, std::variant<double, std::string>> options = {};

  double slow_reader_ms = 30'000.0;  // milliseconds without a read after which a stream is cancelled, (0, 1e9]
};

}  // namespace millrace::api
