import { change, isNumber, metric, quantity, withUnit } from '../shared/format';
import type { Phase, RequestRow, ServeReport } from './schema';
import { mean } from './stats';

// A request with what follows from its times, in milliseconds; null where it has no such thing. Latencies count from `due`.
export interface Measured {
  row: RequestRow;
  whole: boolean;
  lag: number | null;
  ttft: number | null;
  tpot: number | null;
  latency: number | null;
}

export function measure(row: RequestRow): Measured {
  const whole = row.outcome === 'whole' && isNumber(row.first_token);
  const last = row.last_token ?? row.ended;
  const tokens = row.output_tokens ?? 0;
  const since = (end: number | null | undefined, start: number) => (whole && isNumber(end) ? (end - start) * 1000 : null);
  return {
    row,
    whole,
    lag: isNumber(row.sent) ? (row.sent - row.due) * 1000 : null,
    ttft: since(row.first_token, row.due),
    tpot: whole && tokens > 1 && isNumber(last) ? ((last - row.first_token!) * 1000) / (tokens - 1) : null,
    latency: since(last, row.due),
  };
}

// Those that count: without warm-up.
export function counted(report: ServeReport): Measured[] {
  return (report.requests ?? []).filter((row) => !row.warmup).map(measure);
}

export function known(values: (number | null | undefined)[]): number[] {
  return values.filter(isNumber);
}

// Where a latency went, in milliseconds, in this order. `other` is what neither client nor scheduler accounts for: the network, HTTP,
// tokenizing, and tokens on their way.
export const PARTS = ['lag', 'queue', 'prefill', 'decode', 'other'] as const;
export type Part = (typeof PARTS)[number];
export type Split = Record<Part, number>;
export const PART_NAMES: Record<Part, string> = {
  lag: 'client lag',
  queue: 'waiting in the queue',
  prefill: 'prefill',
  decode: 'decode',
  other: 'network, HTTP and the rest',
};

function within(phases: Phase[], kind: Phase['phase'], until: number): number {
  return phases.filter((p) => p.phase === kind).reduce((sum, p) => sum + Math.max(0, Math.min(p.end, until) - p.start), 0) * 1000;
}

// Null where the server's phases are not known or the request did not end well.
export function split(request: Measured, until: 'first token' | 'end'): Split | null {
  const { row, whole } = request;
  const end = until === 'end' ? (row.last_token ?? row.ended) : row.first_token;
  if (!whole || !row.phases?.length || !isNumber(end)) return null;
  const parts: Split = {
    lag: Math.max(0, request.lag ?? 0),
    queue: within(row.phases, 'queue', end),
    prefill: within(row.phases, 'prefill', end),
    decode: within(row.phases, 'decode', end),
    other: 0,
  };
  const total = (end - row.due) * 1000;
  parts.other = Math.max(0, total - parts.lag - parts.queue - parts.prefill - parts.decode);
  return parts;
}

// What millrace's `explain` calls the causes of an answer's time, in words; in the order in which they come.
export const CAUSE_NAMES: Record<string, string> = {
  queue: 'waiting in the queue',
  prefill: 'prefill',
  prefill_shared: "prefill: the steps' tokens of other requests",
  held: 'held: the steps went to others',
  decode: 'decode, as fast as alone',
  decode_batch: "decode: the steps' other answers",
  decode_prefill: "decode: the steps' other prompts",
  preempted: 'preempted',
  recompute: 'computed again after a preemption',
  paused: 'paused: its reader did not read',
};

export interface CauseSum {
  name: string;
  ms: number; // of all answers together
  share: number; // of the time of all causes
  mean: number; // ms an answer
}

// What each cause took of all answers' time in the server, the greatest first. Empty where the server does not explain.
export function causeSums(requests: Measured[]): CauseSum[] {
  const told = requests.filter((r) => r.row.causes);
  const sums = new Map<string, number>();
  for (const r of told) for (const [name, value] of Object.entries(r.row.causes!)) sums.set(name, (sums.get(name) ?? 0) + value);
  const whole = [...sums.values()].reduce((a, b) => a + b, 0);
  if (!(whole > 0)) return [];
  return [...sums].map(([name, value]) => ({ name: CAUSE_NAMES[name] ?? name, ms: value, share: value / whole, mean: value / told.length })).sort((a, b) => b.ms - a.ms);
}

export interface Group {
  label: string;
  from: number; // least and largest figure of the group, ms
  to: number;
  count: number;
  split: Split;
}

// The requests in order of `figure`, in `groups` groups of equal size: how long each part took on average. Empty without phases.
export function groupsBySpeed(requests: Measured[], figure: 'ttft' | 'latency', groups = 10): Group[] {
  const all = requests
    .map((request) => ({ value: request[figure], parts: split(request, figure === 'ttft' ? 'first token' : 'end') }))
    .filter((x): x is { value: number; parts: Split } => isNumber(x.value) && x.parts !== null)
    .sort((a, b) => a.value - b.value);
  const n = Math.min(groups, all.length);
  return Array.from({ length: n }, (_, i) => {
    const members = all.slice(Math.floor((i * all.length) / n), Math.floor(((i + 1) * all.length) / n));
    const parts = Object.fromEntries(PARTS.map((part) => [part, mean(members.map((m) => m.parts[part])) ?? 0])) as Split;
    const percent = (share: number) => Math.round((share / n) * 100);
    return {
      label: `${percent(i)}–${percent(i + 1)} %`,
      from: members[0]!.value,
      to: members[members.length - 1]!.value,
      count: members.length,
      split: parts,
    };
  });
}

export interface ErrorGroup {
  outcome: string;
  status: number;
  error: string;
  count: number;
  first: number; // index of a request and when it was due, s
  due: number;
}

// Failures that say the same but for their numbers, the most frequent first.
export function errorGroups(requests: Measured[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>();
  for (const { row, whole } of requests) {
    if (whole) continue;
    const key = `${row.outcome}\n${row.status}\n${row.error.replace(/\d+/g, '#')}`;
    const group = groups.get(key);
    if (group) group.count += 1;
    else groups.set(key, { outcome: row.outcome, status: row.status, error: row.error, count: 1, first: row.index, due: row.due });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

export function slowest(requests: Measured[], figure: 'ttft' | 'tpot' | 'latency', count = 10): Measured[] {
  return requests
    .filter((r) => isNumber(r[figure]))
    .sort((a, b) => b[figure]! - a[figure]!)
    .slice(0, count);
}

export interface Beside {
  name: string;
  apart: boolean; // the intervals share no value
  cells: string[]; // metric, now, its interval, then, its interval, change, whether the intervals are apart
}

// Each figure beside that of the earlier run.
export function besideEarlier(report: ServeReport): Beside[] {
  return Object.entries(report.estimates ?? {}).flatMap(([name, now]) => {
    const then = report.earlier?.estimates?.[name];
    if (!now || !then || !isNumber(now.value) || !isNumber(then.value)) return [];
    const known = [now.low, now.high, then.low, then.high].every(isNumber);
    const apart = known && (now.low! > then.high! || now.high! < then.low!);
    const { name: title, unit } = metric(name);
    const cells = [now, then].flatMap((e) => [withUnit(e.value, unit), quantity(e.value, unit, e.low, e.high).interval || '–']);
    return [{ name, apart, cells: [title, ...cells, then.value ? change(now.value / then.value) : '–', known ? (apart ? 'apart' : 'overlap') : 'not known'] }];
  });
}
