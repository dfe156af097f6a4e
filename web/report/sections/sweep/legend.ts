import type { Key } from '../../../shared/Chart.svelte';
import { metric } from '../../../shared/format';
import { DASHES, SHAPES } from '../../../shared/theme';
import type { SweepReport } from '../../schema';

// Series by colour and shape; the metrics of a plot by dash, where it shows several.
export function seriesKeys(report: SweepReport): Key[] {
  return report.series.map((s, i) => ({
    name: s.label,
    colour: (p) => p.series[i % p.series.length]!,
    mark: (['circle', 'rect', 'triangle', 'diamond'].includes(SHAPES[i % SHAPES.length]!) ? SHAPES[i % SHAPES.length] : 'circle') as Key['mark'],
  }));
}

export function metricKeys(metrics: string[]): Key[] {
  if (metrics.length < 2) return [];
  return metrics.map((name, j) => {
    const dash = DASHES[j % DASHES.length];
    return { name: metric(name).name, colour: (p) => p.quiet, mark: dash === 'dashed' || dash === 'dotted' ? dash : 'line' };
  });
}
