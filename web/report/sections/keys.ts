import type { Key } from '../../shared/Chart.svelte';
import { isNumber, metric } from '../../shared/format';
import { DASHES, SHAPES } from '../../shared/theme';
import { verdictColour } from '../charts/compare';
import { estimateOf } from '../charts/sweep';
import type { PeersReport, Plot, SweepReport } from '../schema';

// Titles and keys of charts that are drawn in more than one place.

// Series by colour and shape; the metrics of a plot by dash, where it shows several.
export function seriesKeys(report: SweepReport): Key[] {
  return report.series.map((s, i) => ({
    name: s.label,
    colour: (p) => p.series[i % p.series.length]!,
    mark: SHAPES[i % SHAPES.length],
  }));
}

function metricKeys(metrics: string[]): Key[] {
  if (metrics.length < 2) return [];
  return metrics.map((name, j) => {
    const dash = DASHES[j % DASHES.length];
    return { name: metric(name).name, colour: (p) => p.quiet, mark: dash === 'dashed' || dash === 'dotted' ? dash : 'line' };
  });
}

export function hasFigures(report: SweepReport, plot: Plot): boolean {
  return report.series.some((s) => s.points.some((point) => plot.metrics.some((m) => isNumber(estimateOf(point, m)?.value))));
}

export function curveTitle(plot: Plot): string {
  return `${plot.title}${plot.unit && plot.unit !== 'bytes' ? `, ${plot.scale === 'log' ? 'logarithmic' : plot.unit}` : ''}`;
}

export function curveKeys(report: SweepReport, plot: Plot): Key[] {
  const doubtful = report.series.some((s) => s.points.some((point) => point.noise === 'noisy' || point.stopped));
  return [...seriesKeys(report), ...metricKeys(plot.metrics), ...(doubtful ? [{ name: 'noisy or stopped', colour: (p: { quiet: string }) => p.quiet, mark: 'hollow' as const }] : [])];
}

const verdict = (name: string, mark: Key['mark']): Key => ({ name, colour: (p) => verdictColour(p, name), mark });
export const verdictKeys: Key[] = [verdict('B better', 'triangle'), verdict('B worse', 'diamond'), verdict('equal', 'circle'), verdict('undecided', 'rect')];

export function peerKeys(report: PeersReport): Key[] {
  return [...new Set(report.results.map((r) => r.peer))].map((name, i) => ({ name, colour: (p) => p.series[i % p.series.length]! }));
}
