// The quantile of ascending values by linear interpolation, as numpy's default has it; null of none.
export function quantile(ascending: number[], share: number): number | null {
  if (ascending.length === 0) return null;
  const at = share * (ascending.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below]! + (ascending[above]! - ascending[below]!) * (at - below);
}

export function ascending(values: number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

export function mean(values: number[]): number | null {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

export interface Bin {
  from: number;
  to: number;
  count: number;
}

// `bins` bins of equal width on a logarithmic axis from the least to the largest value; zero and less fall into the first.
export function logHistogram(values: number[], bins: number): Bin[] {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [];
  let low = Infinity;
  let high = -Infinity;
  for (const value of positive) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low === high) return [{ from: low * 0.95, to: high * 1.05, count: values.length }];
  const step = Math.log(high / low) / bins;
  const all: Bin[] = Array.from({ length: bins }, (_, i) => ({ from: low * Math.exp(i * step), to: low * Math.exp((i + 1) * step), count: 0 }));
  for (const value of values) {
    const i = value > 0 ? Math.floor(Math.log(value / low) / step) : 0;
    all[Math.min(bins - 1, Math.max(0, i))]!.count += 1;
  }
  return all;
}

// Steps of the empirical distribution: [value, share of values at or below it]. At most `most` points, evenly spread in rank with
// the last one kept, so that tails stay.
export function ecdf(values: number[], most = 600): [number, number][] {
  const sorted = ascending(values);
  const n = sorted.length;
  const stride = Math.max(1, Math.ceil(n / most));
  const points: [number, number][] = [];
  for (let i = 0; i < n; i += stride) points.push([sorted[i]!, (i + 1) / n]);
  // The slowest hundredth in full: p99 and above are what people look for.
  if (stride > 1) {
    const tail = Math.max(0, n - Math.max(20, Math.floor(n / 100)));
    while (points.length && points[points.length - 1]![1] * n > tail) points.pop();
    for (let i = tail; i < n; ++i) points.push([sorted[i]!, (i + 1) / n]);
  }
  return points;
}

// A sample of `most` of the items, every k-th, the first and last among them.
export function everyKth<T>(items: T[], most: number): T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, i) => items[Math.round((i * (items.length - 1)) / (most - 1))]!);
}
