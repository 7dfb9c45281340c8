import { performance } from 'node:perf_hooks';

/** Sockets are not for free: with more orders than this the next one starts when one is answered. */
export const MAX_IN_FLIGHT = 1_000;

/**
 * Stocks a fresh article, sells it to all buyers at once, and counts.
 *
 * @param {{ shop: ReturnType<typeof import('./shop.mjs').openShop>, sku: string, path: string, stock: number, orders: number,
 *   quantity: number, instances: number, signal: AbortSignal, onProgress: (done: number) => void }} sale
 */
export async function runSale({ shop, sku, path, stock, orders, quantity, instances, signal, onProgress }) {
  const stocked = await shop.setStock(sku, stock);
  if (stocked.status !== 200) {
    throw new Error(`The article could not be stocked: ${stocked.status} ${JSON.stringify(stocked.body)}`);
  }

  const outcomes = new Map();
  const durations = [];
  let done = 0;
  let next = 0;
  const buy = async (index) => {
    const startedAt = performance.now();
    const outcome = await shop.order(index, path, { sku, quantity }).then(
      ({ status }) => status,
      (error) => error.code ?? error.message,
    );
    signal.throwIfAborted();
    durations.push(performance.now() - startedAt);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    onProgress(++done);
  };
  const buyer = async () => {
    while (next < orders) await buy(next++);
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: Math.min(orders, MAX_IN_FLIGHT) }, buyer));
  const seconds = (performance.now() - startedAt) / 1_000;

  const levels = [];
  for (let index = 0; index < instances; index++) levels.push((await shop.level(sku, index)).body);
  return summary({ stock, orders, quantity, outcomes, durations, seconds, levels });
}

function summary({ stock, orders, quantity, outcomes, durations, seconds, levels }) {
  const accepted = outcomes.get(201) ?? 0;
  const rejected = outcomes.get(409) ?? 0;
  const sold = accepted * quantity;
  const sorted = durations.sort((a, b) => a - b);
  const percentile = (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  return {
    accepted,
    rejected,
    sold,
    left: levels[0].stock,
    oversold: Math.max(0, sold - stock),
    /** Everything but sold and sold out, by status or error code. */
    failures: [...outcomes].filter(([outcome]) => outcome !== 201 && outcome !== 409),
    perSecond: orders / seconds,
    p50: percentile(0.5),
    p99: percentile(0.99),
    /** What the database says, as each instance sees it. */
    levels,
  };
}

/** How much can be sold: whole orders that fit into the stock, and not more of them than there are. */
export function sellable({ stock, orders, quantity }) {
  return Math.min(orders, Math.floor(stock / quantity)) * quantity;
}
