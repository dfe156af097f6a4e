import { escapeHtml, isNumber, tidy, withUnit } from '../../shared/format';
import { SHAPES, type Palette } from '../../shared/theme';
import type { SweepReport } from '../schema';
import { axis, frame, within, yAxis, type Option } from './frame';

export interface ParetoPoint {
  series: number;
  x: number; // of the sweep
  tpot: number;
  tokens: number;
  best: boolean; // no other point has both more tokens a second and a lower TPOT
}

export function paretoPoints(report: SweepReport): ParetoPoint[] {
  const all = report.series.flatMap((s, series) =>
    s.points.flatMap((point): ParetoPoint[] => {
      const tpot = point.metrics.median_tpot_ms?.value;
      const tokens = point.metrics.output_throughput?.value;
      return isNumber(tpot) && isNumber(tokens) ? [{ series, x: point.x, tpot, tokens, best: false }] : [];
    }),
  );
  for (const a of all) a.best = !all.some((b) => b !== a && b.tpot <= a.tpot && b.tokens >= a.tokens && (b.tpot < a.tpot || b.tokens > a.tokens));
  return all;
}

// Those points whose names fit beside them: none closer than a few hundredths of either axis to one named before, the best first.
function apart(points: ParetoPoint[]): Set<ParetoPoint> {
  const width = Math.max(...points.map((q) => q.tpot)) - Math.min(...points.map((q) => q.tpot)) || 1;
  const height = Math.max(...points.map((q) => q.tokens)) || 1;
  const named: ParetoPoint[] = [];
  for (const a of points.toSorted((x, y) => Number(y.best) - Number(x.best))) {
    if (!named.some((b) => Math.abs(a.tpot - b.tpot) / width < 0.06 && Math.abs(a.tokens - b.tokens) / height < 0.05)) named.push(a);
  }
  return new Set(named);
}

// What a second of the server gives against how long each user waits for a token. Up and to the left is better.
export function pareto(p: Palette, report: SweepReport): Option {
  const base = frame(p);
  const all = paretoPoints(report);
  const named = apart(all);
  return {
    ...base,
    grid: within({ right: 20, top: 14, bottom: 26 }),
    xAxis: axis(p, 'median TPOT', { scale: true, axisLabel: { formatter: (v: number) => tidy(v, 'ms') } }),
    yAxis: yAxis(p, { min: 0, axisLabel: { formatter: (v: number) => tidy(v, 'tok/s') } }),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
        const point = all.filter((q) => q.series === seriesIndex)[dataIndex]!;
        return `${escapeHtml(report.series[seriesIndex]!.label)} at ${tidy(point.x)}: <b>${withUnit(point.tokens, 'tok/s')}</b>, a token each <b>${withUnit(point.tpot, 'ms')}</b>`;
      },
    },
    series: report.series.map((s, i) => ({
      type: 'line',
      name: s.label,
      symbol: SHAPES[i % SHAPES.length],
      lineStyle: { color: p.series[i % p.series.length], width: 1.2, opacity: 0.5 },
      itemStyle: { color: p.series[i % p.series.length] },
      data: all
        .filter((point) => point.series === i)
        .map((point) => ({
          value: [point.tpot, point.tokens],
          symbolSize: point.best ? 10 : 6,
          itemStyle: point.best ? {} : { color: p.panel, borderColor: p.series[i % p.series.length], borderWidth: 1.5 },
          label: { show: named.has(point), position: 'right', formatter: tidy(point.x), color: p.quiet, fontSize: 10 },
        })),
    })),
  };
}
