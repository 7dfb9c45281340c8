import { describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/applications/application.mjs';
import { Example, send } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/leader-loop', () => {
  const example = new Example('leader-loop', { processes: 2 });
  const { apps } = example;

  interface State {
    readonly isLeader: boolean;
    readonly polls: number;
  }
  const stateOf = async (app: Instance): Promise<State> => (await send(app, 'GET', '/leader')).body as State;

  /** The process that leads and has polled, and the other one. */
  const untilOneLeads = () =>
    until('one process leads', async () => {
      const states = await Promise.all(apps.map(stateOf));
      const leading = apps.filter((_, index) => states[index]!.isLeader && states[index]!.polls > 0);
      expect(states.filter(({ polls }) => polls > 0).length).toBeLessThanOrEqual(1);
      return leading.length === 1 && { leader: leading[0]!, other: apps.find((app) => app !== leading[0])! };
    });

  it('polls in one process, and in the other one when that is killed', async () => {
    const { leader, other } = await untilOneLeads();
    leader.child.kill('SIGKILL');
    await until('the other process leads', async () => (await stateOf(other)).polls > 0, {
      deadline: 20_000,
    });
  });
});
