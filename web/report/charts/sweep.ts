import { escapeHtml, isNumber, metric, quantity, slo, tidy } from '../../shared/format';
import { DASHES, SHAPES, faded, type Palette } from '../../shared/theme';
import type { Estimate, Plot, Slo, SweepPoint, SweepReport } from '../schema';
import { axis, formatter, frame, logAxis, whiskers, yAxis, within, type Axis, type Option, type RenderApi, type Shape } from './frame';
import { laneHeight, laneLabel, lanes } from './lanes';

function xAxisOf(p: Palette, report: SweepReport): Record<string, unknown> {
  const { axis: x, series } = report;
  const name = x.unit && !x.label.toLowerCase().includes(x.unit) && x.unit !== '1/s' ? `${x.label} (${x.unit})` : x.label;
  const values = series.flatMap((s) => s.points.map((point) => point.x));
  if (x.scale === 'log') {
    // What was measured is what the axis names, where that is few.
    const made = logAxis(p, name, '', values, false);
    const customValues = [...new Set(values)].sort((a, b) => a - b);
    if (customValues.length < 2 || customValues.length > 10) return made;
    return { ...made, axisLabel: { ...(made.axisLabel as object), customValues }, axisTick: { show: false, customValues }, splitLine: { ...(made.splitLine as object), customValues } };
  }
  return axis(p, name, { scale: true, axisLabel: { formatter: (v: number) => tidy(v) } });
}

function interval(unit: string, e: Estimate): string {
  const q = quantity(e.value, unit, e.low, e.high);
  return `<b>${q.text} ${q.unit}</b>${q.interval ? ` (${q.interval})` : ''}`;
}

// A metric of a point; a share above 100 % is none: its limit was measured while other work ran.
export function estimateOf(point: SweepPoint, name: string): Estimate | null {
  const e = point.metrics[name];
  return !e || (name.endsWith('_percent') && e.value > 100) ? null : e;
}

// The band between low and high, as one polygon.
function band(colour: string, points: [number, Estimate][]): Record<string, unknown> {
  const known = points.filter(([, e]) => isNumber(e.low) && isNumber(e.high));
  return {
    type: 'custom',
    silent: true,
    z: 1,
    clip: true,
    // All of it, so that the axis reaches as far; drawn once.
    data: known.length > 1 ? known.map(([x, e]) => [x, e.low, e.high]) : [],
    encode: { x: 0, y: [1, 2] },
    renderItem: ({ dataIndex }: { dataIndex: number }, api: RenderApi): Shape =>
      dataIndex > 0
        ? undefined
        : {
            type: 'polygon',
            shape: { points: [...known.map(([x, e]) => api.coord([x, e.low!])), ...known.toReversed().map(([x, e]) => api.coord([x, e.high!]))] },
            style: { fill: faded(colour, 0.16) },
          },
  };
}

function remarks(point: SweepPoint): string {
  return `${point.noise === 'noisy' ? '<br>the machine was noisy' : ''}${point.stopped ? '<br>stopped before its end' : ''}`;
}

const LONGEST = 24; // letters of the names beside "knee"; each series has its part of them

// Where each series bends: an upright line, one for all that bend at the same place, named above the plot.
export function kneeLines(p: Palette, report: SweepReport, x: Axis): { top: number; lines: Record<string, unknown>[] } {
  const found = report.knee ?? [];
  const all = [...new Set(found.map((knee) => knee.x))].map((place) => {
    const knees = found.filter((knee) => knee.x === place);
    const most = Math.max(5, Math.floor(LONGEST / knees.length));
    const names = knees.map(({ label }) => (label.length > most ? `${label.slice(0, most - 1)}…` : label)).join(', ');
    const first = report.series.findIndex((s) => s.label === knees[0]!.label);
    return {
      at: place,
      text: report.series.length === 1 ? `knee at ${tidy(place)}` : `knee: ${names}`,
      colour: knees.length === 1 && first >= 0 ? p.series[first % p.series.length]! : p.text,
    };
  });
  const ends = isNumber(x.min) ? x : { ...x, min: Math.min(...report.series.flatMap((s) => s.points.map((q) => q.x))), max: Math.max(...report.series.flatMap((s) => s.points.map((q) => q.x))) };
  const rows = lanes(all, ends);
  return {
    top: laneHeight(rows),
    lines: all.map((knee, i) => ({
      xAxis: knee.at,
      lineStyle: { color: knee.colour, type: 'dotted', width: 1.4 },
      label: { ...laneLabel(rows[i]!), formatter: knee.text, color: knee.colour },
    })),
  };
}

// One of `plots`: each metric of each series with its interval. Colour and shape tell the series, the dash tells the metric.
export function curves(p: Palette, report: SweepReport, plot: Plot): Option {
  const base = frame(p);
  const values: number[] = [];
  const x = xAxisOf(p, report);
  const knees = kneeLines(p, report, x);
  const series = report.series.flatMap((s, i) => {
    const colour = p.series[i % p.series.length]!;
    return plot.metrics.flatMap((name, j) => {
      const points = s.points.filter((point) => isNumber(estimateOf(point, name)?.value));
      const estimates = points.map((point): [number, Estimate] => [point.x, estimateOf(point, name)!]);
      for (const [, e] of estimates) values.push(e.value, ...[e.low, e.high].filter(isNumber));
      return [
        band(colour, estimates),
        {
          type: 'line',
          name: `${s.label}, ${metric(name).name}`,
          z: 3,
          symbol: SHAPES[i % SHAPES.length],
          symbolSize: 6,
          data: points.map((point) => ({
            value: [point.x, point.metrics[name]!.value],
            // Hollow: not to be trusted as the others.
            itemStyle: point.noise === 'noisy' || point.stopped ? { color: p.panel, borderColor: colour, borderWidth: 1.5 } : { color: colour },
          })),
          lineStyle: { color: colour, width: 1.8, type: DASHES[j % DASHES.length] },
          itemStyle: { color: colour },
          ...(i === 0 && j === 0 ? { markLine: { silent: true, symbol: 'none', data: knees.lines } } : {}),
        },
      ];
    });
  });
  const y = plot.scale === 'log' ? logAxis(p, '', plot.unit, values, true) : yAxis(p, { min: 0, axisLabel: { formatter: formatter(plot.unit) } });
  return {
    ...base,
    grid: within({ top: knees.top, bottom: 26 }),
    xAxis: x,
    yAxis: y,
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
        const pair = Math.floor(seriesIndex / 2);
        const s = report.series[Math.floor(pair / plot.metrics.length)]!;
        const name = plot.metrics[pair % plot.metrics.length]!;
        const point = s.points.filter((q) => isNumber(estimateOf(q, name)?.value))[dataIndex]!;
        return `${escapeHtml(s.label)} at ${tidy(point.x)}<br>${metric(name).name} ${interval(plot.unit, point.metrics[name]!)}${remarks(point)}`;
      },
    },
    series,
  };
}


export function sameSlo(a: Slo, b: Slo): boolean {
  return a.ttft_ms === b.ttft_ms && a.tpot_ms === b.tpot_ms && a.e2el_ms === b.e2el_ms;
}

// The objectives of a sweep, each once.
export function objectives(report: SweepReport): Slo[] {
  const all: Slo[] = [];
  for (const point of report.series.flatMap((s) => s.points)) {
    for (const { slo: one } of point.goodput ?? []) if (!all.some((other) => sameSlo(one, other))) all.push(one);
  }
  return all;
}

// The share of good requests against x, with Wilson's interval and the share that is wanted.
export function goodput(p: Palette, report: SweepReport, objective: Slo): Option {
  const base = frame(p);
  const wanted = (report.max_goodput ?? report.frontier)?.find((f) => sameSlo(f.slo, objective));
  const of = (i: number) =>
    report.series[i]!.points.flatMap((point) => {
      const one = point.goodput?.find((g) => sameSlo(g.slo, objective))?.share;
      return one ? [{ point, one }] : [];
    });
  return {
    ...base,
    grid: within({ top: 12, bottom: 26 }),
    xAxis: xAxisOf(p, report),
    yAxis: yAxis(p, { min: 0, max: 100, interval: 25, axisLabel: { formatter: (v: number) => tidy(v, '%') } }),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
        const i = Math.floor(seriesIndex / 2);
        const { point, one } = of(i)[dataIndex]!;
        return `${escapeHtml(report.series[i]!.label)} at ${tidy(point.x)}<br>${slo(objective)}: ${interval('share', one)}${remarks(point)}`;
      },
    },
    series: report.series.flatMap((_, i) => {
      const colour = p.series[i % p.series.length]!;
      return [
        {
          type: 'line',
          name: report.series[i]!.label,
          symbol: SHAPES[i % SHAPES.length],
          symbolSize: 6,
          data: of(i).map(({ point, one }) => [point.x, one.value * 100]),
          lineStyle: { color: colour, width: 1.6 },
          itemStyle: { color: colour },
          ...(i === 0 && wanted
            ? {
                markLine: {
                  silent: true,
                  symbol: 'none',
                  data: [
                    {
                      yAxis: wanted.wanted_share * 100,
                      lineStyle: { color: p.text, type: 'dashed' },
                      label: { formatter: `wanted: ${tidy(wanted.wanted_share, 'share')}`, position: 'insideStartBottom', color: p.text, fontSize: 10 },
                    },
                  ],
                },
              }
            : {}),
        },
        whiskers({ colour }, of(i).filter(({ one }) => isNumber(one.low) && isNumber(one.high)).map(({ point, one }) => [point.x, one.low! * 100, one.high! * 100])),
      ];
    }),
  };
}
