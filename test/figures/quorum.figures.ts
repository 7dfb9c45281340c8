import { it } from '@jest/globals';
import { ServerFleet } from '../support/server-fleet.js';
import type { RedisServer } from '../support/redis-server.js';
import { endClient, startClient } from './client.js';
import { progress, record } from './report.js';
import { spreadOf } from './spread.js';

const SERVERS = 5;
/** Long enough for hanging connections to be closed and reopened several times. */
const DURATION = 5_000;

const FAULTS: readonly { readonly name: string; readonly strike: (server: RedisServer) => unknown }[] = [
  { name: 'hanging', strike: (server) => server.stop() },
  { name: 'killed', strike: (server) => server.kill() },
];

it('quorum: a free lock, acquired and released', async () => {
  const figures: object[] = [];
  for (const { name, strike } of FAULTS) {
    const fleet = await ServerFleet.start(SERVERS);
    const client = await startClient({ quorum: [...fleet.urls] });
    try {
      await client.do('pairs', { prefix: 'warm-up', ms: 1_000 });
      for (const missing of [0, 1, 2]) {
        progress(`quorum of ${SERVERS}, ${missing} ${name}`);
        if (missing > 0) await strike(fleet.servers[missing - 1]!);
        // Measured from the fault on, so that its detection is included.
        const times = await client.do('pairs', { prefix: `${name}-${missing}`, ms: DURATION });
        figures.push({ missing, how: name, pair: spreadOf(times) });
      }
    } finally {
      await endClient(client);
      await fleet.close();
    }
  }
  record('redis', 'quorum', figures);
}, 120_000);
