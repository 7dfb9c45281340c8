import { describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { Example, send } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/leader-cron', () => {
  const example = new Example('leader-cron', { processes: 2 });
  const { apps } = example;

  const sentBy = async (app: Instance): Promise<number> =>
    ((await send(app, 'GET', '/reminders')).body as { sent: number }).sent;

  it('sends in one process only, and in the other one when that has shut down', async () => {
    const sent = await until('reminders were sent three times', async () => {
      const counts = await Promise.all(apps.map(sentBy));
      return Math.max(...counts) >= 3 && counts;
    });
    expect(Math.min(...sent)).toBe(0);
    const [first, second] = apps as [Instance, Instance];
    const [leader, other] = sent[0]! > 0 ? [first, second] : [second, first];
    leader.child.kill('SIGTERM');
    await until('the other process sends', () => sentBy(other));
  });
});
