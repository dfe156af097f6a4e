import { ms, plural, tidy } from '../../shared/format';
import type { Palette } from '../../shared/theme';
import { PART_NAMES, PARTS, type Group, type Part } from '../derive';
import { axis, frame, within, type Option } from './frame';

export function partColour(p: Palette, part: Part): string {
  return { lag: p.text, queue: p.queue, prefill: p.prefill, decode: p.decode, other: p.other }[part];
}

// The requests in groups from the fastest to the slowest, one bar a group, one stack a part.
export function whereTimeGoes(p: Palette, groups: Group[]): Option {
  const base = frame(p);
  const parts = PARTS.filter((part) => groups.some((g) => g.split[part] > 0));
  return {
    ...base,
    grid: within({ top: 8, bottom: 26 }),
    yAxis: axis(p, '', { type: 'category', inverse: true, data: groups.map((g) => g.label), splitLine: { show: false } }),
    xAxis: axis(p, 'mean of the group', { axisLabel: { formatter: (v: number) => tidy(v, 'ms') } }),
    tooltip: {
      ...(base.tooltip as object),
      trigger: 'axis',
      axisPointer: { type: 'shadow', shadowStyle: { color: p.grid, opacity: 0.5 } },
      formatter: (items: { dataIndex: number }[]) => {
        const group = groups[items[0]!.dataIndex]!;
        const rows = parts.map((part) => `${PART_NAMES[part]}: <b>${ms(group.split[part])}</b>`);
        return `${plural(group.count, 'request')} of ${ms(group.from)} to ${ms(group.to)}<br>${rows.join('<br>')}`;
      },
    },
    series: parts.map((part) => ({
      type: 'bar',
      name: PART_NAMES[part],
      stack: 'all',
      barCategoryGap: '22%',
      data: groups.map((g) => g.split[part]),
      itemStyle: { color: partColour(p, part) },
    })),
  };
}
