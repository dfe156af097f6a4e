import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { besideEarlier, causeSums, counted, errorGroups, groupsBySpeed, measure, slowest, split } from './derive';
import { comparisonTitle, findings, modelName, verdictsInWords, why } from './reasons';
import type { RequestRow, ServeReport } from './schema';
import { ascending, ecdf, everyKth, logHistogram, quantile } from './stats';

const report = JSON.parse(readFileSync(new URL('samples/serve.json', import.meta.url), 'utf8')) as ServeReport;

const row = (more: Partial<RequestRow>): RequestRow => ({
  index: 0, session: 0, turn: 0, warmup: false, due: 1, sent: 1.01, first_byte: 1.2, first_token: 1.5, last_token: 2.5, ended: 2.6, prompt_tokens: 10,
  cached_tokens: 0, output_tokens: 11, outcome: 'whole', status: 200, error: '', id: '', finish_reason: 'stop', good: [], phases: null, ...more,
});

describe('a request', () => {
  it('counts from when it was due, and latency is TTFT + TPOT (n - 1)', () => {
    const m = measure(row({}));
    expect(m.ttft).toBeCloseTo(500);
    expect(m.tpot).toBeCloseTo(100);
    expect(m.latency).toBeCloseTo(m.ttft! + m.tpot! * 10);
    expect(m.lag).toBeCloseTo(10);
  });
  it('has no latency where it failed, and no TPOT of one token', () => {
    expect(measure(row({ outcome: 'cut' }))).toMatchObject({ ttft: null, tpot: null, latency: null });
    expect(measure(row({ output_tokens: 1, last_token: 1.5 }))).toMatchObject({ tpot: null });
  });
  it('ends with its connection where its last token is not told', () => expect(measure(row({ last_token: null })).latency).toBeCloseTo(1600));
});

it('finds the figures of the report in its requests', () => {
  const requests = counted(report);
  for (const [name, key] of [['ttft', 'ttft'], ['tpot', 'tpot'], ['e2el', 'latency']] as const) {
    const values = ascending(requests.map((r) => r[key]).filter((v) => v !== null));
    expect(values).toHaveLength(report.completed!);
    expect(quantile(values, 0.5)!).toBeCloseTo(report[`median_${name}_ms`]!, 0);
  }
});

describe('where the time goes', () => {
  const phases: RequestRow['phases'] = [
    { phase: 'queue', start: 1.02, end: 1.3, tokens: 0 },
    { phase: 'prefill', start: 1.3, end: 1.49, tokens: 10 },
    { phase: 'decode', start: 1.49, end: 2.5, tokens: 11 },
  ];
  it('cuts at the first token, and leaves nothing out', () => {
    const m = measure(row({ phases }));
    const parts = split(m, 'first token')!;
    expect(parts.queue).toBeCloseTo(280);
    expect(parts.prefill).toBeCloseTo(190);
    expect(Object.values(parts).reduce((a, b) => a + b, 0)).toBeCloseTo(m.ttft!);
    expect(why(m, 'end')).toBe('decode 67 %, waiting in the queue 19 %, prefill 13 %');
  });
  it('is not known without phases', () => {
    expect(split(measure(row({})), 'end')).toBeNull();
    expect(why(measure(row({})), 'end')).toBe('');
    expect(groupsBySpeed([measure(row({}))], 'ttft')).toEqual([]);
  });
  it('groups every request once, in order', () => {
    const groups = groupsBySpeed(counted(report), 'ttft');
    expect(groups).toHaveLength(10);
    expect(groups.reduce((sum, g) => sum + g.count, 0)).toBe(report.completed);
    for (let i = 1; i < 10; ++i) expect(groups[i]!.from).toBeGreaterThanOrEqual(groups[i - 1]!.to);
  });
});

it('groups errors that differ in numbers alone', () => {
  const bad = (index: number, error: string) => measure(row({ index, outcome: 'cut', error }));
  const groups = errorGroups([bad(1, 'ended after 5 events'), bad(2, 'ended after 17 events'), bad(3, 'refused'), measure(row({}))]);
  expect(groups.map((g) => [g.count, g.first])).toEqual([[2, 1], [1, 3]]);
});

it('sorts the slowest first', () => {
  const ten = slowest(counted(report), 'latency');
  expect(ten).toHaveLength(10);
  expect(ten[0]!.latency).toBe(Math.max(...counted(report).map((r) => r.latency ?? 0)));
});

describe('findings', () => {
  const texts = (more: Partial<ServeReport>) => findings({ ...report, ...more }, counted(report)).map((f) => f.text).join('\n');
  it('warns of noise, failures, a busy and a late client, and of a stopped run', () => {
    expect(texts({})).toContain('The machine was noisy');
    expect(texts({})).toContain('3 of 130 requests failed');
    expect(texts({})).not.toContain('load client');
    expect(texts({ client: { cpu_share: 0.95 } })).toContain('load client was busy');
    expect(texts({ client: { send_lag_ms: { p99: 500 } } })).toContain('late (p99)');
    expect(texts({ load: { stopped: true } })).toContain('stopped before its end');
  });
  it('sees a queue that never empties, and none in one that does', () => {
    const queue = (waiting: (number | null)[]) => texts({ samples: { t: waiting.map((_, i) => i), waiting }, load: { kind: 'open' } });
    expect(queue(Array.from({ length: 40 }, (_, i) => i))).toContain('The queue grew');
    expect(queue(Array.from({ length: 40 }, (_, i) => (i > 15 && i < 25 ? 30 : 1)))).not.toContain('The queue grew');
    expect(queue(Array.from({ length: 40 }, (_, i) => (i < 10 ? null : i < 26 ? 5 : 8))), 'how it began is not known').not.toContain('The queue grew');
    const told = { steps: { ...report.steps!, waiting: Array.from({ length: 40 }, (_, i) => i) }, load: { kind: 'open' } };
    expect(texts({ ...told, samples: { t: [0, 1], waiting: [null, null] } }), 'the trace knows it').toContain('The queue grew');
  });
  it('says nothing of a report that holds nothing', () => expect(findings({ schema: 'millrace.bench.serve', schema_version: 1 }, [])).toEqual([]));
});

describe('statistics', () => {
  it('interpolates quantiles', () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([], 0.5)).toBeNull();
  });
  it('puts every value in one bin', () => {
    const values = [1, 2, 3, 10, 100, 1000, 0];
    expect(logHistogram(values, 8).reduce((sum, bin) => sum + bin.count, 0)).toBe(7);
    expect(logHistogram([5, 5], 8)).toHaveLength(1);
    expect(logHistogram([], 8)).toEqual([]);
  });
  it('thins a distribution but keeps its tail and its end', () => {
    const points = ecdf(Array.from({ length: 10_000 }, (_, i) => i + 1), 500);
    expect(points.length).toBeLessThan(620);
    expect(points.at(-1)).toEqual([10_000, 1]);
    expect(points.filter(([value]) => value > 9_900)).toHaveLength(100);
    for (let i = 1; i < points.length; ++i) expect(points[i]![0]).toBeGreaterThan(points[i - 1]![0]);
  });
  it('samples with both ends', () => expect(everyKth([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4)).toEqual([0, 3, 6, 9]));
});

describe('causes', () => {
  it('add up over the answers, the greatest first, in words', () => {
    const told = ([{ causes: { queue: 1, decode: 6 } }, { causes: { queue: 2, unheard_of: 1 } }, { causes: null }] as Partial<RequestRow>[]).map((more) => measure(row(more)));
    expect(causeSums(told)).toEqual([
      { name: 'decode, as fast as alone', ms: 6, share: 0.6, mean: 3 },
      { name: 'waiting in the queue', ms: 3, share: 0.3, mean: 1.5 },
      { name: 'unheard_of', ms: 1, share: 0.1, mean: 0.5 },
    ]);
    expect(causeSums([measure(row({}))])).toEqual([]);
  });
});

it('ends no sentence twice, and names no model "default"', () => {
  const noise = { verdict: 'noisy', reasons: ['Other processes took 11 % (limit 5 %).', 'MFU was odd.'] };
  expect(findings({ ...report, noise } as ServeReport, [])[0]!.text).toBe('The machine was noisy: other processes took 11 % (limit 5 %); MFU was odd.');
  expect(modelName('default')).toBe("millrace's default model");
  expect(modelName('m')).toBe('m');
});

describe('a comparison in words', () => {
  const verdicts = (...all: string[]) => all.map((verdict) => ({ verdict }));
  it('says how many are what', () => {
    expect(verdictsInWords(verdicts('B better', 'B better', 'B worse', 'undecided'))).toBe('Of 4 metrics, B is better in 2 and worse in 1; 1 is undecided.');
    expect(verdictsInWords(verdicts('equal', 'undecided', 'undecided'))).toBe('Of 3 metrics, B is equal in 1; 2 are undecided.');
    expect(verdictsInWords(verdicts('undecided', 'undecided'))).toBe('All 2 metrics are undecided.');
  });
  it('is titled by names, or by addresses where there are none', () => {
    expect(comparisonTitle([{ name: 'main' }, { name: 'fast' }])).toBe('A main · B fast');
    expect(comparisonTitle([{ name: 'A', target: 'http://h:1' }, { name: 'B', target: { url: 'http://h:2' } }])).toBe('A http://h:1 · B http://h:2');
    expect(comparisonTitle([{ name: 'A', target: 'http://h:1' }, { name: 'B', target: 'http://h:1' }])).toBe('http://h:1 beside itself');
  });
});

describe('an earlier run', () => {
  const at = (value: number, reach: number) => ({ value, low: value - reach, high: value + reach });
  it('stands beside this one, with each change', () => {
    const estimates = { median_ttft_ms: at(120, 5), p99_ttft_ms: at(200, 50), output_throughput: at(100, 1), median_tpot_ms: null };
    const then = { median_ttft_ms: at(100, 5), p99_ttft_ms: at(180, 50), output_throughput: { value: 50, low: null, high: null }, median_tpot_ms: at(9, 1) };
    expect(besideEarlier({ ...report, estimates, earlier: { estimates: then } }).map((r) => r.cells)).toEqual([
      ['median TTFT', '120\u202fms', '115 to 125', '100\u202fms', '95 to 105', '+20.0\u202f%', 'apart'],
      ['p99 TTFT', '200\u202fms', '150 to 250', '180\u202fms', '130 to 230', '+11.1\u202f%', 'overlap'],
      ['output tokens', '100\u202ftok/s', '99 to 101', '50.0\u202ftok/s', '–', '+100\u202f%', 'not known'],
    ]);
    expect(besideEarlier({ ...report, earlier: null })).toEqual([]);
  });
});
