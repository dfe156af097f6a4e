import type { Key } from '../shared/Chart.svelte';
import { svgOf } from '../shared/echarts';
import { framedSvg } from '../shared/framed_svg';
import { DARK, LIGHT, type Palette } from '../shared/theme';
import { themedSvg } from '../shared/themed_svg';
import { forest } from './charts/compare';
import { cumulative } from './charts/distribution';
import type { Option } from './charts/frame';
import { advantages, peerBars } from './charts/peers';
import { curves } from './charts/sweep';
import { counted, known } from './derive';
import type { Report } from './schema';
import { curveKeys, curveTitle, hasFigures, peerKeys, verdictKeys } from './sections/keys';

// The pictures of a report as files for pages that run no scripts, such as our documentation: the page's own charts.
export interface Picture {
  name: string; // part of a file's name: letters, digits and "-"
  title: string;
  svg: string;
}

const WIDTH = 720;

interface Drawing {
  name: string;
  title: string;
  height: number;
  keys: Key[];
  option: (p: Palette) => Option;
}

function drawings(report: Report): Drawing[] {
  switch (report.schema) {
    case 'millrace.bench.serve':
      return (['ttft', 'tpot', 'latency'] as const).flatMap((figure) => {
        const values = known(counted(report).map((r) => r[figure]));
        const title = figure === 'latency' ? 'Latency' : figure.toUpperCase();
        return values.length ? [{ name: figure, title: `${title}, share of requests`, height: 280, keys: [], option: (p: Palette) => cumulative(p, { values, objectives: [] }) }] : [];
      });
    case 'millrace.bench.sweep':
      return (report.plots ?? []).filter((plot) => hasFigures(report, plot)).map((plot) => ({
        name: plot.title, title: curveTitle(plot), height: 300, keys: curveKeys(report, plot), option: (p) => curves(p, report, plot),
      }));
    case 'millrace.bench.compare':
      if (!report.verdicts?.some((v) => v.ratio)) return [];
      return [{ name: 'ratios', title: 'Change from A to B', height: report.verdicts.length * 26 + 50, keys: verdictKeys, option: (p) => forest(p, report) }];
    case 'millrace.bench.peers':
      return [...new Set(report.results.map((r) => r.workload))].map((workload) => ({
        name: workload, title: workload, height: advantages(report, workload).length * 24 + 56, keys: peerKeys(report), option: (p) => peerBars(p, report, workload),
      }));
  }
}

// Without a browser the library measures texts by rule of thumb, and some too narrow.
function roomy(option: Option): Option {
  return { ...option, grid: { ...(option.grid as object), left: 20 } };
}

export function pictures(report: Report): Picture[] {
  const taken = new Map<string, number>();
  return drawings(report).map(({ name, title, height, keys, option }) => {
    const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
    const count = (taken.get(slug) ?? 0) + 1;
    taken.set(slug, count);
    const drawn = (p: Palette) =>
      framedSvg(svgOf(roomy(option(p)), WIDTH, height, p.panel), WIDTH, height, title, keys.map((key) => ({ ...key, colour: key.colour(p) })), p);
    return { name: count > 1 ? `${slug}-${count}` : slug, title, svg: plain(themedSvg(drawn(LIGHT), drawn(DARK))) };
  });
}

// Without what serves only a page that is there: the library's marks of its shapes, and names that count on from picture to picture.
function plain(svg: string): string {
  const names = new Map<string, string>();
  const named = (name: string) => names.get(name) ?? (names.set(name, `m${names.size}`), names.get(name)!);
  return svg
    .replace(/ ecmeta_\w+="[^"]*"/g, '')
    .replace(/\bzr\d+-[\w-]+/g, named)
    .replace(/\d+\.\d{3,}/g, (number) => String(Math.round(Number(number) * 100) / 100));
}
