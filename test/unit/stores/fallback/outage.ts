import { expect } from '@jest/globals';
import type { PortClient } from '../../../contract/port-client.js';
import type { AwayStore } from '../../../support/away-store.js';
import { until } from '../../../support/until.js';

/** The store becomes unreachable, and the session has noticed that. */
export async function goLocal(client: PortClient, store: AwayStore): Promise<void> {
  store.goAway();
  const owner = client.newOwner();
  expect(await client.acquire('anything', owner)).toMatchObject({ local: true });
  await client.release('anything', owner);
}

/** The store is back, and the session has noticed that. */
export async function comeBack(client: PortClient, store: AwayStore): Promise<void> {
  store.comeBack();
  const asked = store.asked.acquire ?? 0;
  await until('the store is used', async () => {
    const owner = client.newOwner();
    await client.acquire('probe', owner);
    await client.release('probe', owner);
    return store.asked.acquire !== asked;
  });
}
