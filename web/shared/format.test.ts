import { describe, expect, it } from 'vitest';
import { bytes, change, escapeHtml, metric, ms, number, percent, quantity, runTime, seconds, slo, tidy, times, withUnit } from './format';

const plain = (text: string) => text.replaceAll('\u202f', ' ');

describe('figures', () => {
  it.each([
    [0.0123, '12.3 µs'], [0.5, '500 µs'], [12.34, '12.3 ms'], [842.1, '842 ms'], [999.4, '999 ms'], [999.6, '1.00 s'], [2943.5, '2.94 s'],
    [61_000, '61.0 s'], [0, '0 ms'], [null, 'not known'], [undefined, 'not known'], [NaN, 'not known'],
  ])('writes %s ms as %s', (value, text) => expect(plain(ms(value))).toBe(text));

  it('keeps three digits, and groups thousands', () => {
    expect(number(0.012345)).toBe('0.0123');
    expect(plain(number(1234.5))).toBe('1235');
    expect(plain(number(54796))).toBe('54 796');
    expect(plain(number(-54796))).toBe('-54 796');
    expect(number(-0.0000001)).toBe('0.000000');
  });

  it('takes the unit of the middle for both ends of an interval', () => {
    expect(quantity(1020, 'ms', 980, 1100)).toEqual({ text: '1.02', unit: 's', interval: '0.98 to 1.10' });
    expect(quantity(0.6, 'share', 0.5226, 0.6727)).toEqual({ text: '60.0', unit: '%', interval: '52.3 to 67.3' });
  });

  it('gives a narrow interval the digits that tell its ends apart, and hides one that is not whole', () => {
    expect(quantity(950e6, 'bytes', 949.9e6, 950.1e6).interval).toBe('949.9 to 950.1');
    expect(quantity(5, 'ms', null, 6).interval).toBe('');
  });

  it('writes other units', () => {
    expect(plain(bytes(1.034e9))).toBe('1.03 GB');
    expect(plain(seconds(0.0004))).toBe('400 µs');
    expect(plain(percent(2.7))).toBe('2.7 %');
    expect(plain(percent(100))).toBe('100 %');
    expect(plain(withUnit(235.1, 'tok/s'))).toBe('235 tok/s');
    expect(plain(runTime(3700.4))).toBe('3700 s');
  });

  it('leaves out zeros where a figure was set', () => {
    expect(plain(tidy(60, 'ms'))).toBe('60 ms');
    expect(plain(tidy(1500, 'ms'))).toBe('1.5 s');
    expect(tidy(100)).toBe('100');
    expect(tidy(0, 'ms')).toBe('0');
    expect(plain(slo({ ttft_ms: 400, tpot_ms: 60 }))).toBe('TTFT ≤ 400 ms, TPOT ≤ 60 ms');
  });

  it('writes a ratio as a change', () => {
    expect(plain(change(0.931))).toBe('−6.9 %');
    expect(plain(change(1.0825))).toBe('+8.3 %');
    expect(plain(change(1.0001))).toBe('0.0 %');
    expect(change(null)).toBe('not known');
    expect(times(1.4399)).toBe('1.44×');
  });
});

it('names metrics, known and not', () => {
  expect(metric('p99_ttft_ms')).toMatchObject({ name: 'p99 TTFT', unit: 'ms', better: 'lower' });
  expect(metric('output_throughput')).toMatchObject({ unit: 'tok/s', better: 'higher' });
  expect(metric('queue_wait_ms')).toEqual({ name: 'queue wait ms', unit: 'ms', better: 'lower' });
});

it('makes data harmless in html', () => {
  expect(escapeHtml(`<img src=x onerror="a('&')">`)).not.toMatch(/[<>"']/);
});
