// The JSON of docs/bench_reports.md as the page reads it. Everything below a report's top may be missing or null.
export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
}
export type Metric = number | null | undefined;
export type Metrics = Record<string, Estimate | null | undefined>;

export interface Slo {
  ttft_ms?: number;
  tpot_ms?: number;
  e2el_ms?: number;
}
export interface Goodput {
  slo: Slo;
  share: Estimate | null;
  requests_s: number | null;
  tokens_s: number | null;
}
export interface Phase {
  phase: 'queue' | 'prefill' | 'decode';
  start: number;
  end: number;
  tokens: number | null;
}
export interface RequestRow {
  index: number;
  session: number;
  turn: number;
  warmup: boolean;
  due: number;
  sent: number | null;
  first_byte: number | null;
  first_token: number | null;
  last_token?: number | null;
  ended: number | null;
  prompt_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  outcome: string;
  status: number;
  error: string;
  id: string;
  finish_reason: string;
  good: number[];
  phases: Phase[] | null;
  causes?: Record<string, number> | null; // ms; as the server's `explain` said it
}
export interface Noise {
  steal_percent: Metric;
  other_cpu_percent: Metric;
  load_average: Metric;
  frequency_mhz: { min: number; median: number; max: number } | null;
  throttled_s: Metric;
  read_gb_s_before: Metric;
  read_gb_s_after: Metric;
  verdict: string;
  reasons: string[];
}
export interface Samples {
  t: number[];
  running?: (number | null)[];
  waiting?: (number | null)[];
  kv_used?: (number | null)[];
  prefill_tok_s?: (number | null)[];
  decode_tok_s?: (number | null)[];
  mbu_percent?: (number | null)[];
  resident_bytes?: (number | null)[];
}
export interface Steps {
  t: number[];
  ms: number[];
  prefill_tokens: number[];
  decode_tokens: number[];
  sequences: number[];
  running: number[];
  waiting: number[];
  pages_used: number[];
  pages_free: number[];
  preempted: number[];
}
export interface Heat {
  t: number[];
  ms: number[];
  counts: number[][];
}
export interface Server {
  model_bytes: Metric;
  kv_bytes_per_token: Metric;
  kv_capacity_tokens: Metric;
  resident_peak_bytes: Metric;
  cpu_seconds: Metric;
  mbu_percent: Metric;
  mfu_percent: Metric;
  read_gb_s: Metric;
  peak_gop_s: Metric;
  limit_note?: string | null;
  energy_joules: Metric;
  counters: Record<string, number> | null;
}

// An earlier run that this one stands beside.
export interface Earlier {
  file?: string | null;
  date?: string | null;
  label?: string | null;
  millrace?: { version?: string | null; commit?: string | null } | null;
  server_version?: string | null;
  noise?: string | null;
  estimates?: Metrics | null;
  differences?: string[] | null;
}

interface Common {
  schema: string;
  schema_version: number;
  millrace?: { version?: string; commit?: string; build?: string } | null;
  machine?: Record<string, unknown> | null;
  command?: string[] | null;
  date?: string | null;
}

type Statistic = 'mean' | 'median' | 'std' | 'p90' | 'p95' | 'p99';
type Latency = 'ttft' | 'tpot' | 'itl' | 'e2el';

export interface ServeReport extends Common, Partial<Record<`${Statistic}_${Latency}_ms`, Metric>> {
  schema: 'millrace.bench.serve';
  backend?: string | null;
  label?: string | null;
  model_id?: string | null;
  tokenizer_id?: string | null;
  num_prompts?: Metric;
  request_rate?: number | string | null;
  burstiness?: Metric;
  max_concurrency?: Metric;
  duration?: Metric;
  completed?: Metric;
  failed?: Metric;
  total_input_tokens?: Metric;
  total_output_tokens?: Metric;
  request_throughput?: Metric;
  request_goodput?: Metric;
  output_throughput?: Metric;
  total_token_throughput?: Metric;
  max_concurrent_requests?: Metric;
  itls?: number[][] | null;
  target?: { url?: string | null; spawned?: string[] | string | null; server?: string | null; version?: string | null } | null;
  load?: {
    kind?: string | null;
    workload?: string | null;
    arrivals?: string | null;
    users?: Metric;
    think_s?: Metric;
    sessions?: Metric;
    turns?: Metric;
    warmup?: Metric;
    seed?: Metric;
    stopped?: boolean | null;
  } | null;
  estimates?: Metrics | null;
  goodput?: Goodput[] | null;
  client?: {
    cpu_share?: Metric;
    cpu_seconds?: Metric;
    send_lag_ms?: Partial<Record<'mean' | 'p50' | 'p90' | 'p99' | 'max', number | null>> | null;
  } | null;
  server?: Partial<Server> | null;
  samples?: Samples | null;
  steps?: Steps | null;
  requests?: RequestRow[] | null;
  itl_heat?: Heat | null;
  earlier?: Earlier | null;
  noise?: Partial<Noise> | null;
}

export interface SweepPoint {
  x: number;
  stopped?: boolean | null;
  runs?: Metric;
  requests?: Metric; // that count, of all runs
  metrics: Metrics;
  goodput?: Goodput[] | null;
  noise?: string | null;
}
export interface SweepSeries {
  label: string;
  points: SweepPoint[];
}
export interface Plot {
  title: string;
  metrics: string[];
  unit: string;
  scale: 'log' | 'linear';
}
export interface HighestRate {
  label?: string | null; // of the series
  slo: Slo;
  wanted_share: number;
  rate: Estimate | null;
  tried: { rate: number; share: Estimate; met: boolean }[];
}

export interface SweepReport extends Common {
  schema: 'millrace.bench.sweep';
  axis: { name: string; unit: string; label: string; scale: 'log' | 'linear' };
  point_size?: string | null; // in words
  series: SweepSeries[];
  plots?: Plot[] | null;
  knee?: { label: string; x: number; why: string }[] | null;
  max_goodput?: HighestRate[] | null;
  frontier?: HighestRate[] | null; // the name of max_goodput in reports of before
}

export interface Verdict {
  metric: string;
  unit: string;
  better: 'lower' | 'higher';
  a: Metric;
  b: Metric;
  ratio: Estimate | null;
  noise_ratio: Metric;
  verdict: string;
  why: string;
}
export interface Round {
  order: string;
  a: Record<string, Metric | Estimate>;
  b: Record<string, Metric | Estimate>;
  noise?: Partial<Noise> | string | null;
}
export interface CompareReport extends Common {
  schema: 'millrace.bench.compare';
  sides: {
    name: string;
    target?: string | { url?: string | null } | null;
    server?: string | null;
    version?: string | null;
    millrace_version?: string | null;
  }[];
  remark?: string | null; // what a reader must know first
  rounds?: Round[] | null;
  verdicts?: Verdict[] | null;
  verdict?: string | null;
  threshold_percent?: Metric;
}

export interface PeersReport extends Common {
  schema: 'millrace.bench.peers';
  peers: { name: string; version?: string | null; model?: string | null; weights?: string | null; command?: string[] | string | null }[];
  workloads?: { name: string; description?: string | null; flags?: string[] | string | null }[] | null;
  results: {
    peer: string;
    workload: string;
    rounds?: { millrace: Record<string, Metric | Estimate>; peer: Record<string, Metric | Estimate> }[] | null;
    ratios: Metrics;
  }[];
}

export type Report = ServeReport | SweepReport | CompareReport | PeersReport;
