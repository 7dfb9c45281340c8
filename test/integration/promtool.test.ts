import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ALERT_RULES, alertQueries, panelQueries } from '../support/monitoring-docs.js';
import { TestFolder } from '../support/test-folder.js';
import { rejectionOf } from '../support/until.js';

const run = promisify(execFile);
const promtool = process.env['PROMTOOL'];

describe('alert rules and dashboard queries, checked by Prometheus', () => {
  if (promtool === undefined) {
    it.skip('needs promtool of Prometheus: run it with npm run test:stores', () => undefined);
    return;
  }

  const folder = new TestFolder();

  /** Recording rules for the queries, since promtool checks only rules. */
  const rulesOf = (exprs: readonly string[]): Promise<string> => {
    const rules = exprs.map((expr, index) => ({ record: `query_${index}`, expr }));
    // JSON is YAML.
    return folder.write(`${exprs.length}.yaml`, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  };

  it('the alert rules are correct', async () => {
    const { stdout } = await run(promtool, ['check', 'rules', ALERT_RULES]);
    expect(stdout).toContain(`${alertQueries().length} rules found`);
  });

  it('the queries of the dashboard are correct', async () => {
    const exprs = panelQueries().map(({ expr }) =>
      expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h').replaceAll(/\$\w+/g, '.*'),
    );
    const { stdout } = await run(promtool, ['check', 'rules', await rulesOf(exprs)]);
    expect(stdout).toContain(`${exprs.length} rules found`);
  });

  /** The alerts that are raised at that time for series with these values, one each 15 s. */
  const alertsOf = async (alert: string, at: string, series: Record<string, string>): Promise<string> => {
    const test = {
      rule_files: [ALERT_RULES],
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [
            { eval_time: at, alertname: alert, exp_alerts: [{ exp_labels: { none: 'such' } }] },
          ],
        },
      ],
    };
    const file = await folder.write(`${alert}.yaml`, JSON.stringify(test));
    // The check fails, and prints the actual alerts.
    const error = (await rejectionOf(run(promtool, ['test', 'rules', file]))) as {
      stdout: string;
      stderr: string;
    };
    return /got:([^]*)/.exec(error.stdout + error.stderr)?.[1] ?? '';
  };

  it.each([
    [
      'LockLost',
      'distributed_lock_losses_total{job="shop", operation="checkout", reason="taken"}',
      '0x8 1x8',
      '0x16',
    ],
    ['LocksAreLocal', 'distributed_lock_local{job="shop"}', '1x16', '0x16'],
    ['LockStoreUnavailable', 'distributed_lock_store_reachable{job="shop", instance="a"}', '0x16', '1x16'],
    ['LockWaitsLong', 'distributed_lock_wait_oldest_seconds{job="shop", instance="a"}', '0+15x16', '0x16'],
  ])('%s is raised when it should be, and not otherwise', async (alert, series, bad, good) => {
    expect(await alertsOf(alert, '4m', { [series]: bad })).toContain('job="shop"');
    expect(await alertsOf(alert, '4m', { [series]: good })).not.toContain('job="shop"');
  });

  const REQUESTS = 'distributed_lock_store_request_duration_seconds_bucket';
  const RENEWALS = 'distributed_lock_renewal_failures_total{job="shop", instance="a"}';
  const MARGIN = 'distributed_lock_lease_margin_ratio{job="shop", instance="a"}';
  const CALLS = 'distributed_lock_acquire_duration_seconds_count';
  it.each<[string, string, Record<string, string>, Record<string, string>]>([
    [
      'LockLeaseRunsOut',
      '4m',
      { [MARGIN]: '0.3x20', [RENEWALS]: '0+1x20' },
      { [MARGIN]: '0.8x20', [RENEWALS]: '0+1x20' },
    ],
    [
      'LockStoreUnavailable',
      '6m',
      {
        [`${CALLS}{job="shop", outcome="unavailable"}`]: '0+1x30',
        [`${CALLS}{job="shop", outcome="granted"}`]: '5x30',
      },
      {
        [`${CALLS}{job="shop", outcome="unavailable"}`]: '0+1x30',
        [`${CALLS}{job="shop", outcome="granted"}`]: '0+20x30',
      },
    ],
    ['LockRenewalsFail', '12m', { [RENEWALS]: '0+1x60' }, { [RENEWALS]: '0x4 3x60' }],
    [
      'LockTimeouts',
      '25m',
      {
        [`${CALLS}{job="shop", operation="checkout", outcome="timeout"}`]: '0+1x120',
        [`${CALLS}{job="shop", operation="checkout", outcome="granted"}`]: '0+9x120',
      },
      {
        [`${CALLS}{job="shop", operation="checkout", outcome="timeout"}`]: '0+1x120',
        [`${CALLS}{job="shop", operation="checkout", outcome="granted"}`]: '0+99x120',
      },
    ],
    [
      'LockQueueGrows',
      '12m',
      {
        'distributed_lock_waiting{job="shop", operation="checkout", instance="a"}': '60x60',
        'distributed_lock_waiting{job="shop", operation="checkout", instance="b"}': '60x60',
      },
      { 'distributed_lock_waiting{job="shop", operation="checkout", instance="a"}': '60x60' },
    ],
    [
      'LockStoreSlow',
      '20m',
      {
        [`${REQUESTS}{job="shop", le="0.5"}`]: '0+90x100',
        [`${REQUESTS}{job="shop", le="1"}`]: '0+100x100',
        [`${REQUESTS}{job="shop", le="+Inf"}`]: '0+100x100',
      },
      {
        [`${REQUESTS}{job="shop", le="0.1"}`]: '0+100x100',
        [`${REQUESTS}{job="shop", le="0.5"}`]: '0+100x100',
        [`${REQUESTS}{job="shop", le="+Inf"}`]: '0+100x100',
      },
    ],
  ])('%s is raised when it should be, after its time, and not otherwise', async (alert, at, bad, good) => {
    expect(await alertsOf(alert, at, bad)).toContain('job="shop"');
    expect(await alertsOf(alert, at, good)).not.toContain('job="shop"');
  });

  it('LockStoreUnavailable is not raised by a single failure, though no other call was made', async () => {
    const once = { [`${CALLS}{job="shop", outcome="unavailable"}`]: '0x8 1x30' };
    for (const at of ['3m', '4m', '5m', '6m', '8m'])
      expect(await alertsOf('LockStoreUnavailable', at, once)).not.toContain('job="shop"');
  });

  it('LockQueueGrows leaves out the candidates of an election', async () => {
    const candidates = { 'distributed_lock_waiting{job="shop", operation="leader election"}': '500x60' };
    expect(await alertsOf('LockQueueGrows', '12m', candidates)).not.toContain('job="shop"');
  });
});
