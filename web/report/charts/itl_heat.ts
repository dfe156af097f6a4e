import { integer, ms, percent, runTime, tidy } from '../../shared/format';
import { shade, type Palette } from '../../shared/theme';
import type { Heat } from '../schema';
import { axis, frame, logTicks, yAxis, within, type Option, type RenderApi, type Shape } from './frame';

// Counts are coloured by their logarithm: one long gap among ten thousand short ones must be seen.
export function heatShare(count: number, most: number): number {
  return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}

const FEW = 0.005; // of all gaps

// The heat map from the first row on below which there are few gaps: coalesced writes, 10 µs apart, would flatten all others. The
// short ones are in the lowest row.
export function trimmed(heat: Heat): { heat: Heat; short: number } {
  const totals = heat.counts.map((row) => row.reduce((a, b) => a + b, 0));
  const all = totals.reduce((a, b) => a + b, 0);
  let first = 0;
  let short = 0;
  while (first < totals.length - 2 && short + totals[first]! <= FEW * all) short += totals[first++]!;
  if (first === 0) return { heat, short: 0 };
  const lowest = heat.counts[first]!.map((_, j) => heat.counts.slice(0, first + 1).reduce((sum, row) => sum + row[j]!, 0));
  return { heat: { t: heat.t, ms: heat.ms.slice(first), counts: [lowest, ...heat.counts.slice(first + 1)] }, short };
}

// How many gaps between tokens were how long, over the run.
export function itlHeat(p: Palette, whole: Heat): Option {
  const { heat } = trimmed(whole);
  const columns = heat.t.length - 1;
  const cells: number[][] = [];
  let most = 0;
  heat.counts.forEach((row, i) =>
    row.forEach((count, j) => {
      if (count > 0) cells.push([heat.t[j]!, heat.t[j + 1]!, heat.ms[i]!, heat.ms[i + 1]!, count]);
      most = Math.max(most, count);
    }),
  );
  const totals = Array.from({ length: columns }, (_, j) => heat.counts.reduce((sum, row) => sum + (row[j] ?? 0), 0));
  const low = heat.ms[0]! > 0 ? heat.ms[0]! : heat.ms[1]! / 2;
  const high = heat.ms[heat.ms.length - 1]!;
  const base = frame(p);
  return {
    ...base,
    grid: within({ top: 10, bottom: 26 }),
    xAxis: axis(p, 'seconds since the start', { min: heat.t[0], max: heat.t[columns], splitLine: { show: false }, axisLabel: { formatter: (v: number) => tidy(v), showMaxLabel: false } }),
    yAxis: yAxis(p, {
      type: 'log',
      min: low,
      max: high,
      axisLabel: { formatter: (v: number) => tidy(v, 'ms'), customValues: logTicks(low, high, 10) },
      splitLine: { show: false },
    }),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ value }: { value: number[] }) => {
        const total = totals[Math.max(0, heat.t.indexOf(value[0]!))] ?? 0;
        return `<b>${integer(value[4])}</b> gaps of ${ms(value[2])} to ${ms(value[3])}<br>${percent((value[4]! / total) * 100)} of those from ${runTime(value[0]!)} to ${runTime(value[1]!)}`;
      },
    },
    series: [
      {
        type: 'custom',
        clip: true,
        data: cells,
        encode: { x: [0, 1], y: [2, 3] },
        renderItem: (_: unknown, api: RenderApi): Shape => {
          const [left, bottom] = api.coord([api.value(0), Math.max(api.value(2), low)]);
          const [right, top] = api.coord([api.value(1), api.value(3)]);
          return {
            type: 'rect',
            shape: { x: left, y: top, width: right - left + 0.3, height: bottom - top + 0.3 },
            style: { fill: shade(p.heat, heatShare(api.value(4), most)) },
          };
        },
      },
    ],
  };
}
