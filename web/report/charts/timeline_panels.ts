import { isNumber } from '../../shared/format';
import type { Palette } from '../../shared/theme';
import type { Measured } from '../derive';
import type { ServeReport } from '../schema';
import { inFlight, kvUsed } from './timeline_rows';

interface Line {
  name: string;
  t: number[];
  values: (number | null)[];
  colour: (p: Palette) => string;
  stack?: boolean;
  dashed?: boolean;
}
export interface Panel {
  id: string;
  title: string;
  lines: Line[];
  max?: number;
  unit: string;
}

// What the server told over time, each in a panel of its own below the requests; what it did not tell has none.
export function panels(report: ServeReport, requests: Measured[]): Panel[] {
  const { steps, samples } = report;
  const all: Panel[] = [];
  const known = (values?: (number | null)[] | null) => !!values?.some(isNumber);
  if (steps?.t.length) {
    all.push({
      id: 'composition',
      title: 'Tokens a scheduler step',
      unit: '',
      lines: [
        { name: 'decode', t: steps.t, values: steps.decode_tokens, colour: (p) => p.decode, stack: true },
        { name: 'prefill', t: steps.t, values: steps.prefill_tokens, colour: (p) => p.prefill, stack: true },
      ],
    });
    all.push({
      id: 'steps',
      title: 'Step time',
      unit: 'ms',
      lines: [{ name: 'step', t: steps.t, values: steps.ms, colour: (p) => p.series[3]! }],
    });
  }
  const queue = steps?.t.length ? steps : samples;
  if (queue && (known(queue.running) || known(queue.waiting))) {
    all.push({
      id: 'queue',
      title: 'Sequences running and waiting',
      unit: '',
      lines: [
        { name: 'running', t: queue.t, values: queue.running ?? [], colour: (p) => p.accent },
        { name: 'waiting', t: queue.t, values: queue.waiting ?? [], colour: (p) => p.bad, dashed: true },
      ],
    });
  } else {
    const own = inFlight(requests);
    all.push({
      id: 'flight',
      title: 'Requests in flight, as the client saw them',
      unit: '',
      lines: [{ name: 'in flight', t: own.t, values: own.values, colour: (p) => p.accent }],
    });
  }
  const kv = steps?.t.length ? { t: steps.t, values: kvUsed(steps) } : samples && known(samples.kv_used) ? { t: samples.t, values: samples.kv_used! } : null;
  if (kv) {
    all.push({ id: 'kv', title: 'KV cache in use', max: 1, unit: 'share', lines: [{ name: 'in use', ...kv, colour: (p) => p.good }] });
  }
  if (samples && known(samples.mbu_percent)) {
    all.push({
      id: 'mbu',
      title: 'Memory bandwidth used (MBU)',
      max: 100,
      unit: '%',
      lines: [{ name: 'MBU', t: samples.t, values: samples.mbu_percent!, colour: (p) => p.series[4]! }],
    });
  }
  return all;
}
