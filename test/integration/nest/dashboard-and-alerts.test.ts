import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { alertQueries, panelQueries, variableQueries, type Query } from '../../support/monitoring-docs.js';
import type { Scrape } from '../../support/scrape.js';
import { MeasuredShop } from './measured-shop.js';

/** Labels that Prometheus adds to scraped series. */
const OF_SCRAPES = ['instance', 'job', 'le'];

/** Metrics, labels and label values of a query that no scrape has. */
function unknownIn({ expr, where }: Query, scrape: Scrape): string[] {
  const unknown: string[] = [];
  const selectors = [...expr.matchAll(/\b(distributed_lock\w*)(?:\{([^}]*)\})?/g)];
  if (selectors.length === 0) unknown.push(`${where}: no metric`);
  const labels = new Set(OF_SCRAPES);
  for (const [, metric = '', matchers = ''] of selectors) {
    const samples = scrape.samples.filter(({ name }) => name === metric);
    if (samples.length === 0) unknown.push(`${where}: metric ${metric}`);
    const own = new Set(scrape.labelsOf(metric.replace(/_(bucket|sum|count)$/, '')));
    for (const label of own) labels.add(label);
    for (const [, label = '', operator, value = ''] of matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)) {
      if (!own.has(label) && !OF_SCRAPES.includes(label))
        unknown.push(`${where}: label ${label} of ${metric}`);
      if (operator === '!=' || value.startsWith('$')) continue;
      const values = samples.map((sample) => sample.labels[label]);
      for (const each of operator === '=~' ? value.split('|') : [value]) {
        if (!values.includes(each)) unknown.push(`${where}: ${label}="${each}" of ${metric}`);
      }
    }
  }
  const grouped = [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)|label_values\(\w+, (\w+)\)/g)];
  for (const [, list, single = ''] of grouped) {
    for (const label of list === undefined ? [single] : list.split(', ')) {
      if (!labels.has(label)) unknown.push(`${where}: label ${label}`);
    }
  }
  return unknown;
}

/** O12: the files that operators import match the metrics that applications serve. */
describe('O12: dashboard and alert rules', () => {
  let shop: MeasuredShop;
  let scrape: Scrape;
  const everything = (): Query[] => [...panelQueries(), ...variableQueries(), ...alertQueries()];
  beforeAll(async () => {
    shop = await MeasuredShop.open();
    await shop.causeEveryEvent();
    scrape = await shop.scrape();
  });
  afterAll(() => shop.close());

  it('name only metrics and labels of a scrape', () => {
    const queries = everything();
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.flatMap((query) => unknownIn(query, scrape))).toEqual([]);
  });

  it('show every metric', () => {
    const text = everything()
      .map(({ expr }) => expr)
      .join('\n');
    expect([...scrape.types.keys()].filter((name) => !text.includes(name))).toEqual([]);
  });
});
