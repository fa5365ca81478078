export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metrics {
  /** Names of all series, with the suffixes of histograms; also of those without a value. */
  readonly names: ReadonlySet<string>;
  seriesOf(name: string): readonly Series[];
  /** Undefined: there is no such series. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};

export function parseMetrics(text: string): Metrics {
  const names = new Set<string>();
  const all = new Map<string, Series[]>();
  for (const line of text.split('\n')) {
    const [, declared, type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    for (const suffix of declared === undefined ? [] : (SUFFIXES[type] ?? ['']))
      names.add(`${declared}${suffix}`);
    const [, name, labels = '', value] = /^([a-zA-Z_:]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const found = all.get(name) ?? [];
    all.set(name, found);
    found.push({
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text]),
      ),
      value: Number(value),
    });
  }
  const seriesOf = (name: string): readonly Series[] => all.get(name) ?? [];
  return {
    names,
    seriesOf,
    value: (name, labels = {}) =>
      seriesOf(name).find((series) =>
        Object.entries(labels).every(([key, text]) => series.labels[key] === text),
      )?.value,
  };
}
