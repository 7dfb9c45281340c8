/** One value that Prometheus would read. */
export interface ScrapedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The metrics of an application, as Prometheus reads them, with names that begin with `distributed_lock`. */
export class Scrape {
  /** The help text of each metric. */
  readonly types = new Map<string, string>();
  readonly samples: readonly ScrapedSample[];

  constructor(readonly text: string) {
    const lines = text.split('\n');
    for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (distributed_lock\w*) (\w+)$/gm)) {
      this.types.set(name, type);
    }
    this.samples = lines.flatMap((line) => {
      const found = /^(distributed_lock\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (found === null) return [];
      const [, name = '', labels = '', value = ''] = found;
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return [
        {
          name,
          labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
          value: Number(value),
        },
      ];
    });
  }

  /** The label names of a metric, without that of buckets. */
  labelsOf(metric: string): readonly string[] {
    const own = this.samples.filter(({ name }) => metricOf(name) === metric || name === metric);
    const names = own.flatMap(({ labels }) => Object.keys(labels));
    return [...new Set(names)].filter((name) => name !== 'le').sort();
  }

  /** The only value of a series with at least these labels. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const fitting = this.samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
    );
    if (fitting.length > 1)
      throw new Error(`${name} has ${fitting.length} series with ${JSON.stringify(labels)}`);
    return fitting[0]?.value;
  }
}

/** The metric of a sample: samples of histograms have suffixes. */
function metricOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}
