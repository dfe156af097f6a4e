#include "model_flags.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "cli.h"
#include "hub/model_lookup.h"
#include "option_heading.h"
#include "runtime/cache_directory.h"
#include "size_option.h"

namespace millrace::app {
namespace {

constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

}  // namespace

void ModelFlags::declare_machine(CLI::App& app) {
  const OptionHeading heading(app, "Machine");
  app.add_option("--device", device, fmt::format("Device that computes: {}", fmt::join(backend::device_names(), ", ")))
      ->envname("MILLRACE_DEVICE")
      ->check(CLI::IsMember(backend::device_names()));
  app.add_option("-t,--threads", threads, "Worker threads; 0 = as many as CPU affinity and the cgroup quota allow")
      ->envname("MILLRACE_THREADS");
  app.add_option("--cpu-isa", cpu_isa,
                 "Instruction set: scalar, avx2, avx_vnni, avx512_vnni or avx512_bf16; default the best the CPU has")
      ->envname("MILLRACE_CPU_ISA")
      ->type_name("{scalar,avx2,avx_vnni,avx512_vnni,avx512_bf16}");
  app.add_option("--matmul-precision", matmul_precision,
                 "Precision of matrix products. auto: int8 activations for quantized weights, in two int8 terms where "
                 "one is too coarse; int8x2: always two int8 terms; bf16: weights and activations in bf16, more "
                 "memory; f32: weights unpacked to f32, exact and slower")
      ->envname("MILLRACE_MATMUL_PRECISION")
      ->check(CLI::IsMember(runtime::matmul_precisions()));
  app.add_option(
         "--iq-panels", iq_panels,
         "How weights of GGUF's iq1, iq2 and iq3 types lie in memory. fast: as codes of 3 or 4 bits; compact: in "
         "the bits of the file, slower; auto: fast where they fit --memory. The results are the same")
      ->envname("MILLRACE_IQ_PANELS")
      ->check(CLI::IsMember(runtime::iq_panel_names()));
}

void ModelFlags::declare(CLI::App& app) {
  declare_machine(app);
  declare_ranks(app);
  declare_cache(app);
  hub.declare(app);
}

void ModelFlags::declare_ranks(CLI::App& app) {
  const OptionHeading heading(app, "Parallelism");
  app.add_option(
         "--tensor-parallel-size", ranks.tensor_parallel_size,
         "Number of processes that share every layer of the model (-tp); the output does not change. --threads and "
         "--kv-cache-memory-bytes are per process")
      ->envname("MILLRACE_TENSOR_PARALLEL_SIZE")
      ->check(CLI::Range(1, runtime::kMaxRanks));
  app.add_option("--tensor-parallel-shares", ranks.tensor_parallel_shares,
                 "Shares of the ranks, their speeds in any unit, e.g. 1,2; default equal ones")
      ->delimiter(',')
      ->needs("--tensor-parallel-size");
  app.add_option("--pipeline-parallel-size", ranks.pipeline_parallel_size,
                 "Number of stages that have some of the layers each, processes on this host (-pp): each needs less "
                 "memory, and steps of several sequences overlap; one sequence alone gets no faster")
      ->envname("MILLRACE_PIPELINE_PARALLEL_SIZE")
      ->check(CLI::Range(1, runtime::kMaxRanks));
  app.add_option("--pipeline-parallel-shares", ranks.pipeline_parallel_shares,
                 "Shares of the stages, their speeds in any unit, e.g. 1,2; default equal ones")
      ->delimiter(',')
      ->needs("--pipeline-parallel-size");
  app.add_option("--distributed-executor-backend", ranks.distributed_executor_backend,
                 "How those processes are started. shm: by millrace, on this host; mpi: by mpirun, on several hosts")
      ->envname("MILLRACE_DISTRIBUTED_EXECUTOR_BACKEND")
      ->check(CLI::IsMember(runtime::executor_backends()));
  app.add_option("--trusted-network", ranks.trusted_network,
                 "Network interface for --distributed-executor-backend mpi on several hosts, e.g. eth1. MPI neither "
                 "encrypts nor authenticates: no other machine may reach that network. Default none")
      ->envname("MILLRACE_TRUSTED_NETWORK")
      ->type_name("NAME");
  app.add_flag("--allow-oversubscription", ranks.allow_oversubscription,
               "Let ranks have more threads than there are processors, which makes them many times slower");
}

void ModelFlags::declare_cache(CLI::App& app) {
  const OptionHeading heading(app, "Model and KV cache");
  app.add_option("--kv-cache-dtype", kv_cache_dtype,
                 "Data type of the KV cache: bf16, f16, f32, int8 or fp8 (half the memory of bf16), k8v4 (8-bit keys, "
                 "5-bit values) or int4 (6-bit keys, 5-bit values: three eighths)")
      ->envname("MILLRACE_KV_CACHE_DTYPE")
      ->check(CLI::IsMember(runtime::kv_cache_dtypes()));
  app.add_option("--kv-exceptions", kv_exceptions,
                 "Layers whose KV cache has another data type: 0-1:bf16,5:int8 gives layers 0 and 1 bf16, layer 5 int8")
      ->envname("MILLRACE_KV_EXCEPTIONS")
      ->type_name("LAYERS:TYPE[,...]");
  app.add_option(
         "-q,--quantization", quantization,
         fmt::format("Format that loading gives weights stored as f32, f16, bf16 or FP8: {}; embedding and head "
                     "become q8_0. auto: what fits --memory with the least error. A method such as gptq or awq says "
                     "what the model has to be",
                     fmt::join(runtime::quantization_names(), ", ")))
      ->envname("MILLRACE_QUANTIZATION")
      ->type_name("{" + fmt::format("{}", fmt::join(runtime::quantization_names(), ",")) + "}|METHOD");
  app.add_option("--imatrix", imatrix,
                 "Importance matrix of this model, a file that llama.cpp's imatrix tool wrote: --quantization then "
                 "rounds so that errors count as large as the inputs they meet")
      ->envname("MILLRACE_IMATRIX")
      ->type_name("FILE");
  add_size_option(
      app, "--memory", memory,
      "Max bytes of weights, workspace and a sequence's keys and values, e.g. 8GB; --quantization auto takes "
      "what fits with the least error, --iq-panels auto the fastest. 0 = what is available")
      ->envname("MILLRACE_MEMORY");
  app.add_option("--kv-layout", kv_layout,
                 "Memory layout of the KV cache: paged32 (tiles the kernels read in place), token (as in LightLLM) or "
                 "vector16 (as in vLLM)")
      ->envname("MILLRACE_KV_LAYOUT")
      ->check(CLI::IsMember(runtime::kv_layouts()));
  app.add_option("--block-size", block_size,
                 "Tokens per KV cache page; by default 32 for --kv-layout paged32, 1 for token, 16 for vector16")
      ->envname("MILLRACE_BLOCK_SIZE")
      ->check(CLI::Range(std::int64_t{1}, backend::kMaxBlockTokens));
  app.add_option("-c,--max-model-len,--ctx-size", max_model_len,
                 "Max tokens of a sequence, prompt and completion together; 0 = the model's context length")
      ->envname("MILLRACE_MAX_MODEL_LEN")
      ->check(CLI::Range(std::int64_t{0}, runtime::kMaxModelLength));
  app.add_option("--packed-cache", packed_cache,
                 "Keep packed weights on disk for a faster start: auto (large models only, in the cache directory), "
                 "off, or a directory")
      ->envname("MILLRACE_PACKED_CACHE")
      ->type_name("{auto,off}|DIR");
  add_size_option(
      app, "--packed-cache-limit", packed_cache_limit,
      "Max bytes that --packed-cache keeps on disk, e.g. 20GB; the least recently used weights are deleted first")
      ->envname("MILLRACE_PACKED_CACHE_LIMIT");
}

std::string default_model_path() { return runtime::cache_directory() + "/models/" + kDefaultModel; }

std::string model_path(const std::string& reference, const HubFlags& hub) {
  if (reference != "default") {
    auto path = hub::find_path(reference).or_throw();
    return path ? *path : hub_model_path(hub::parse_reference(reference).or_throw(), hub);
  }
  const std::string path = default_model_path();
  if (!std::filesystem::exists(path)) {
    throw_load_error(ErrorCode::kNotFound, "model",
                     "the default model is not there: {}: ./dev setup downloads it; without a network place that file "
                     "by hand, or name a model: a .gguf file, a directory with config.json and safetensors, or "
                     "org/name on the Hugging Face hub",
                     path);
  }
  return path;
}

void check_reference(const std::string& reference) {
  if (reference == "default" || hub::find_path(reference).or_throw()) return;
  const hub::RepositoryReference parsed = hub::parse_reference(reference).or_throw();
  if (!hub::find_cached(hub_cache(), parsed)) refuse_ollama_name(parsed);
}

std::unique_ptr<checkpoint::Checkpoint> open_model(const std::string& reference, const HubFlags& hub) {
  return checkpoint::open_checkpoint(Env::system(), model_path(reference, hub)).or_throw();
}

LoadedModel load_model(const ModelFlags& flags, const runtime::BackendWrapper& wrap,
                       const std::function<void(double)>& progress) {
  flags.validate().or_throw();
  runtime::ModelConfig config = flags;
  config.path = model_path(flags.model, flags.hub);
  return runtime::load_model(config, progress, wrap);
}

}  // namespace millrace::app
