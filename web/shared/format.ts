// Figures for people: a unit that fits, three digits, and the digits of an interval as those of its middle.
export const UNKNOWN = 'not known';
const THIN = '\u202f';

interface Scale {
  unit: string;
  factor: number;
}

const MS: Scale[] = [
  { unit: 's', factor: 1000 },
  { unit: 'ms', factor: 1 },
  { unit: 'µs', factor: 0.001 },
];
const BYTES: Scale[] = [
  { unit: 'TB', factor: 1e12 },
  { unit: 'GB', factor: 1e9 },
  { unit: 'MB', factor: 1e6 },
  { unit: 'kB', factor: 1e3 },
  { unit: 'B', factor: 1 },
];

// Units by their name in the reports; what is not here keeps its unit. `ms` above a minute stays in seconds.
const SCALES: Record<string, Scale[]> = { ms: MS, s: MS.map((scale) => ({ ...scale, factor: scale.factor / 1000 })), bytes: BYTES };

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function decimals(value: number, digits: number): number {
  if (value === 0) return 0;
  // Of the rounded value: 9.996 has two decimals less than it seems, as it is written 10.0.
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  return Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(rounded) + 1e-9)));
}

function grouped(text: string): string {
  const [whole, part] = text.split('.') as [string, string?];
  const spaced = whole.length > 4 + (whole.startsWith('-') ? 1 : 0) ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  return part === undefined ? spaced : `${spaced}.${part}`;
}

function fixed(value: number, places: number): string {
  const text = value.toFixed(places);
  return grouped(text.startsWith('-') && Number(text) === 0 ? text.slice(1) : text);
}

// 1234.5 -> "1235", 0.01234 -> "0.0123", 12345 -> "12 345".
export function number(value: unknown, digits = 3): string {
  return isNumber(value) ? fixed(value, decimals(value, digits)) : UNKNOWN;
}

export function integer(value: unknown): string {
  return isNumber(value) ? fixed(value, 0) : UNKNOWN;
}

function pick(value: number, unit: string): Scale {
  const scales = SCALES[unit];
  if (!scales) return { unit, factor: 1 };
  // 999.6 ms would be written as 1000 ms: it is 1.00 s.
  return scales.find((scale) => Math.abs(value) >= scale.factor * 0.9995) ?? (value === 0 ? { unit, factor: 1 } : scales[scales.length - 1]!);
}

export interface Quantity {
  text: string; // of the figure alone
  unit: string;
  interval: string; // "801 to 903", or "" where there is none
}

// A figure with its unit and interval in that unit; "share" is of 1 and shown in percent.
export function quantity(value: unknown, unit: string, low?: unknown, high?: unknown): Quantity {
  if (!isNumber(value)) return { text: UNKNOWN, unit: '', interval: '' };
  if (unit === 'share') {
    return quantity(value * 100, '%', isNumber(low) ? low * 100 : low, isNumber(high) ? high * 100 : high);
  }
  const scale = pick(value, unit);
  const places = unit === '%' ? (Math.abs(value) >= 99.95 || value === 0 ? 0 : 1) : decimals(value / scale.factor, 3);
  const known = isNumber(low) && isNumber(high);
  // An interval so narrow that both ends look alike gets the digits that tell them apart, two more at most.
  let bounds = places;
  if (known && low !== high) {
    while (bounds < places + 2 && fixed(low / scale.factor, bounds) === fixed(high / scale.factor, bounds)) ++bounds;
  }
  return {
    text: fixed(value / scale.factor, places),
    unit: scale.unit,
    interval: known ? `${fixed(low / scale.factor, bounds)} to ${fixed(high / scale.factor, bounds)}` : '',
  };
}

export function withUnit(value: unknown, unit: string): string {
  const { text, unit: shown } = quantity(value, unit);
  if (!shown) return text;
  return shown === '%' ? `${text}${THIN}%` : `${text}${THIN}${shown}`;
}

// A round figure as it was set, or a tick of an axis: 60 -> "60 ms", 1500 -> "1.5 s"; without the zeros that would claim precision.
export function tidy(value: unknown, unit = ''): string {
  const { text, unit: shown } = quantity(value, unit);
  const short = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return short === '0' || !shown ? short : `${short}${THIN}${shown}`;
}

export const ms = (value: unknown): string => withUnit(value, 'ms');
export const seconds = (value: unknown): string => withUnit(value, 's');
export const bytes = (value: unknown): string => withUnit(value, 'bytes');
export const percent = (value: unknown): string => withUnit(value, '%');
export const share = (value: unknown): string => withUnit(value, 'share');

// A time on the run's axis: 0.5 -> "0.5 s", 75 -> "75 s", 3700 -> "3700 s".
export function runTime(value: number): string {
  return `${fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0)}${THIN}s`;
}

// A ratio of two as a change: 0.931 -> "−6.9 %".
export function change(ratio: unknown): string {
  if (!isNumber(ratio)) return UNKNOWN;
  const percentage = (ratio - 1) * 100;
  const text = fixed(Math.abs(percentage), Math.abs(percentage) >= 99.95 ? 0 : 1);
  const sign = Number(text.replace(THIN, '')) === 0 ? '' : percentage < 0 ? '−' : '+';
  return `${sign}${text}${THIN}%`;
}

export function times(ratio: unknown): string {
  return isNumber(ratio) ? `${fixed(ratio, decimals(ratio, 3))}×` : UNKNOWN;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${integer(count)} ${count === 1 ? one : many}`;
}

// For html that a library writes: names, errors and labels are data.
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const METRICS: Record<string, { name: string; unit: string; better: 'lower' | 'higher' }> = {
  ttft_ms: { name: 'TTFT', unit: 'ms', better: 'lower' },
  tpot_ms: { name: 'TPOT', unit: 'ms', better: 'lower' },
  itl_ms: { name: 'ITL', unit: 'ms', better: 'lower' },
  e2el_ms: { name: 'latency', unit: 'ms', better: 'lower' },
  request_throughput: { name: 'requests', unit: 'req/s', better: 'higher' },
  request_goodput: { name: 'goodput', unit: 'req/s', better: 'higher' },
  output_throughput: { name: 'output tokens', unit: 'tok/s', better: 'higher' },
  total_token_throughput: { name: 'all tokens', unit: 'tok/s', better: 'higher' },
  mbu_percent: { name: 'MBU', unit: '%', better: 'higher' },
  mfu_percent: { name: 'MFU', unit: '%', better: 'higher' },
  cached_share: { name: 'cached prompt tokens', unit: 'share', better: 'higher' },
  resident_peak_bytes: { name: 'peak memory', unit: 'bytes', better: 'lower' },
};

export interface MetricName {
  name: string; // "median TTFT"
  unit: string;
  better: 'lower' | 'higher';
}

// "p99_ttft_ms" -> {"p99 TTFT", "ms", lower}; a name nobody knows is shown as it is.
export function metric(name: string): MetricName {
  const known = METRICS[name];
  if (known) return known;
  const match = /^(mean|median|std|p\d+)_(.*)$/.exec(name);
  const base = match && METRICS[match[2]!];
  if (base) return { ...base, name: `${match[1]} ${base.name}` };
  return {
    name: name.replaceAll('_', ' '),
    unit: name.endsWith('_ms') ? 'ms' : name.endsWith('_percent') ? '%' : name.endsWith('_bytes') ? 'bytes' : '',
    better: name.endsWith('_ms') ? 'lower' : 'higher',
  };
}

export function slo(objective: { ttft_ms?: number; tpot_ms?: number; e2el_ms?: number }): string {
  const parts: string[] = [];
  if (isNumber(objective.ttft_ms)) parts.push(`TTFT ≤ ${tidy(objective.ttft_ms, 'ms')}`);
  if (isNumber(objective.tpot_ms)) parts.push(`TPOT ≤ ${tidy(objective.tpot_ms, 'ms')}`);
  if (isNumber(objective.e2el_ms)) parts.push(`latency ≤ ${tidy(objective.e2el_ms, 'ms')}`);
  return parts.join(', ') || 'answered';
}
