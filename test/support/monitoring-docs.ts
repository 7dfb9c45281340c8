import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const docs = join(import.meta.dirname, '../../docs/operations');

/** The alert rules that users load into Prometheus. */
export const ALERT_RULES = join(docs, 'prometheus-alerts.yaml');

/** A query of the dashboard, or the expression of an alert. */
export interface Query {
  readonly where: string;
  readonly expr: string;
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

/** The dashboard that users import into Grafana. */
function dashboard(): Dashboard {
  return JSON.parse(readFileSync(join(docs, 'grafana-dashboard.json'), 'utf8')) as Dashboard;
}

/** The queries of all panels. */
export function panelQueries(): Query[] {
  return dashboard().panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  );
}

/** The queries of the dashboard's variables, which are not PromQL. */
export function variableQueries(): Query[] {
  return dashboard().templating.list.flatMap(({ name, definition: expr }) =>
    expr === undefined ? [] : [{ where: name, expr }],
  );
}

export function alertQueries(): Query[] {
  const text = readFileSync(ALERT_RULES, 'utf8');
  const rules = [...text.matchAll(/^ +- alert: (\w+)\n +expr: (.+)$/gm)];
  if (rules.length !== text.match(/- alert:/g)?.length) {
    throw new Error('each alert must be followed by its expr on one line');
  }
  return rules.map(([, where = '', expr = '']) => ({ where, expr }));
}
