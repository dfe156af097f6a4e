import { integer, isNumber, ms, runTime, tidy } from '../../shared/format';
import { SHAPES, type Palette } from '../../shared/theme';
import type { Measured } from '../derive';
import { ascending, quantile } from '../stats';
import { axis, frame, logAxis, within, type Option } from './frame';

export type Metric = 'ttft' | 'tpot' | 'latency';

// Medians of `windows` equal windows of time, null where fewer than three requests began in one.
export function medians(points: [number, number][], from: number, to: number, windows: number): [number, number | null][] {
  const width = (to - from) / windows || 1;
  const bins: number[][] = Array.from({ length: windows }, () => []);
  for (const [t, value] of points) bins[Math.min(windows - 1, Math.max(0, Math.floor((t - from) / width)))]!.push(value);
  return bins.map((bin, i) => [from + (i + 0.5) * width, bin.length < 3 ? null : quantile(ascending(bin), 0.5)]);
}

function label(r: Measured): string {
  return `request ${r.row.index}: TTFT ${ms(r.ttft)}, TPOT ${ms(r.tpot)}, latency ${ms(r.latency)}<br>${integer(r.row.prompt_tokens)} tokens in, ${integer(r.row.output_tokens)} out, due at ${runTime(r.row.due)}`;
}

// A figure of each request by when it was due; those that failed at the foot.
export function overTime(p: Palette, requests: Measured[], figure: Metric): Option {
  const good = requests.filter((r) => isNumber(r[figure]));
  const failed = requests.filter((r) => !r.whole);
  const points = good.map((r): [number, number] => [r.row.due, r[figure]!]);
  const y = logAxis(p, '', 'ms', points.map(([, value]) => value), true);
  const end = requests.reduce((most, r) => Math.max(most, r.row.due), 0);
  const base = frame(p);
  return {
    ...base,
    grid: within({ top: 10, bottom: 26 }),
    xAxis: axis(p, 'due, seconds since the start', { min: 0, max: end || 1, axisLabel: { formatter: (v: number) => tidy(v), showMaxLabel: false } }),
    yAxis: y,
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ seriesName, dataIndex }: { seriesName: string; dataIndex: number }) =>
        seriesName === 'requests' ? label(good[dataIndex]!) : `request ${failed[dataIndex]!.row.index} failed: ${failed[dataIndex]!.row.outcome}`,
    },
    series: [
      { type: 'scatter', name: 'requests', data: points, symbolSize: good.length > 1000 ? 3.5 : 5, itemStyle: { color: p.accent, opacity: 0.55 } },
      {
        type: 'line',
        name: 'median',
        silent: true,
        symbol: 'none',
        connectNulls: true,
        data: medians(points, 0, end, Math.min(40, Math.max(4, Math.round(good.length / 12)))),
        lineStyle: { color: p.text, width: 1.6 },
      },
      {
        type: 'scatter',
        name: 'failed',
        data: failed.map((r) => [r.row.due, y.min as number]),
        symbol: SHAPES[2],
        symbolSize: 9,
        itemStyle: { color: p.bad },
        z: 5,
      },
    ],
  };
}

// TTFT against the length of the prompt; those with cached tokens in another shape.
export function againstPrompt(p: Palette, requests: Measured[]): Option {
  const good = requests.filter((r) => isNumber(r.ttft) && isNumber(r.row.prompt_tokens) && r.row.prompt_tokens > 0);
  const groups = [good.filter((r) => !r.row.cached_tokens), good.filter((r) => r.row.cached_tokens)];
  const base = frame(p);
  return {
    ...base,
    grid: within({ top: 10, bottom: 26 }),
    xAxis: logAxis(p, 'prompt, tokens', '', good.map((r) => r.row.prompt_tokens!), false),
    yAxis: logAxis(p, '', 'ms', good.map((r) => r.ttft!), true),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
        const r = groups[seriesIndex]![dataIndex]!;
        return `${label(r)}<br>${integer(r.row.cached_tokens)} prompt tokens cached`;
      },
    },
    series: groups.map((group, i) => ({
      type: 'scatter',
      name: i ? 'part of the prompt cached' : 'nothing cached',
      symbol: i ? 'diamond' : 'circle',
      symbolSize: i ? 8 : 5,
      data: group.map((r) => [r.row.prompt_tokens, r.ttft]),
      itemStyle: { color: i ? p.series[1] : p.accent, opacity: 0.6 },
    })),
  };
}
