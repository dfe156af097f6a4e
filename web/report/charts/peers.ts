import { escapeHtml, isNumber, metric, tidy, times } from '../../shared/format';
import { SHAPES, type Palette } from '../../shared/theme';
import type { Estimate, PeersReport } from '../schema';
import { axis, frame, logAxis, whiskers, within, type Option } from './frame';

export interface Advantage {
  metric: string;
  peer: string;
  value: number; // how many times better millrace is: above 1 for less latency as for more throughput
  low: number | null;
  high: number | null;
}

// A ratio turned so that more is better.
export function advantage(name: string, ratio: Estimate): Omit<Advantage, 'peer'> {
  if (metric(name).better === 'higher') return { metric: name, value: ratio.value, low: ratio.low, high: ratio.high };
  const turned = (value: number | null) => (isNumber(value) && value > 0 ? 1 / value : null);
  return { metric: name, value: turned(ratio.value) ?? NaN, low: turned(ratio.high), high: turned(ratio.low) };
}

export function advantages(report: PeersReport, workload: string): Advantage[] {
  const results = report.results.filter((r) => r.workload === workload);
  const names = [...new Set(results.flatMap((r) => Object.keys(r.ratios)))];
  return names.flatMap((name) =>
    results.flatMap((r) => {
      const ratio = r.ratios[name];
      const one = ratio && isNumber(ratio.value) ? { ...advantage(name, ratio), peer: r.peer } : null;
      return one && one.value > 0 ? [one] : [];
    }),
  );
}

// One bar a metric and peer, from 1 (as good) to the right where millrace is better.
export function peerBars(p: Palette, report: PeersReport, workload: string): Option {
  const base = frame(p);
  const all = advantages(report, workload);
  const peers = [...new Set(report.results.map((r) => r.peer))];
  // The same axis for every workload: bars of two charts can be laid side by side.
  const every = [...new Set(report.results.map((r) => r.workload))].flatMap((name) => advantages(report, name));
  const reach = Math.max(2, ...every.flatMap((a) => [a.value, a.low, a.high].filter(isNumber).flatMap((v) => [v, 1 / v])));
  const categories = all.map((a) => `${metric(a.metric).name}, ${a.peer}`);
  return {
    ...base,
    grid: within({ right: 52, top: 8, bottom: 26 }),
    yAxis: axis(p, '', { type: 'category', inverse: true, data: categories, axisLabel: { color: p.text, interval: 0, hideOverlap: false }, splitLine: { show: false } }),
    xAxis: {
      ...logAxis(p, 'times as good as the peer', '', [1 / reach, reach], false),
      axisLabel: { ...(logAxis(p, '', '', [1 / reach, reach], false).axisLabel as object), formatter: (v: number) => `${tidy(v)}×` },
    },
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const a = all[dataIndex]!;
        return `${metric(a.metric).name} beside ${escapeHtml(a.peer)}: <b>${times(a.value)}</b> as good (${times(a.low)} to ${times(a.high)})`;
      },
    },
    series: [
      {
        type: 'custom',
        name: 'advantage',
        data: all.map((a, i) => [i, a.value]),
        encode: { x: 1, y: 0 },
        renderItem: (_: unknown, api: { value(i: number): number; coord(at: [number, number]): [number, number]; size(of: [number, number]): [number, number] }) => {
          const i = api.value(0);
          const [at, y] = api.coord([api.value(1), i]);
          const [one] = api.coord([1, i]);
          const tall = Math.min(16, api.size([0, 1])[1] * 0.62);
          return {
            type: 'rect',
            shape: { x: Math.min(at, one), y: y - tall / 2, width: Math.max(1, Math.abs(at - one)), height: tall },
            style: { fill: p.series[peers.indexOf(all[i]!.peer) % p.series.length], opacity: 0.85 },
          };
        },
      },
      whiskers({ colour: p.text }, all.flatMap((a, i) => (isNumber(a.low) && isNumber(a.high) ? [[i, a.low, a.high]] : [])), {}, true),
      {
        type: 'scatter',
        name: 'value',
        silent: true,
        symbolSize: 0,
        data: all.map((a, i) => [Math.max(a.value, a.high ?? 0, 1), i]),
        label: { show: true, position: 'right', distance: 6, color: p.text, fontSize: 11, formatter: ({ dataIndex }: { dataIndex: number }) => times(all[dataIndex]!.value) },
        symbol: SHAPES[0],
        markLine: { silent: true, symbol: 'none', data: [{ xAxis: 1, lineStyle: { color: p.text, type: 'solid', width: 1.4 }, label: { show: false } }] },
        tooltip: { show: false },
      },
    ],
  };
}
