import { writtenEntry } from './entry.js';
import type { LockContext } from './lock-context.js';

/**
 * The end of a session: its places are given up, and holds whose work goes on are left to expire (B60), each with what is
 * left of its lease. Nobody keeps etcd's leases alive any more, so those end soon after.
 */
export async function leaveToExpire(context: LockContext): Promise<void> {
  const { own, client, leases, transactions } = context;
  const now = client.now();
  const holds = [...own.values()].filter(({ isHeld, endsAt }) => isHeld && endsAt > now);
  const longest = Math.max(0, ...holds.map(({ endsAt }) => endsAt - now));
  if (holds.length > 0) {
    const lease = await leases.grantPassing(Math.ceil(longest / 1_000) + 1);
    await Promise.all(
      holds.map((entry) =>
        transactions.run([entry.key], {
          do: 'txn',
          if: [{ key: entry.name, created: entry.created }],
          then: [
            {
              do: 'put',
              key: entry.name,
              value: writtenEntry(entry.valueFor(true, Math.max(1, Math.ceil(entry.endsAt - client.now())))),
              lease,
            },
          ],
          else: [],
        }),
      ),
    );
  }
  await leases.revoke();
}
