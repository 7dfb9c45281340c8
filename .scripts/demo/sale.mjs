import { performance } from 'node:perf_hooks';
import { setTimeout as elapse } from 'node:timers/promises';
import { SetupError } from '../setup.mjs';

/** Sockets are not for free: with more orders than this the next one starts when one is answered. */
const MAX_IN_FLIGHT = 1_000;

/** The lock could not be had in time, or not be asked for: nothing was sold, and the order may be sent again. */
const MAY_BE_SENT_AGAIN = [423, 503];

export const buyersOf = (orders) => Math.min(orders, MAX_IN_FLIGHT);

/**
 * Stocks a fresh article, sells it to all buyers at once, and counts.
 *
 * @param {{ shop: ReturnType<typeof import('./shop.mjs').openShop>, sku: string, path: string, stock: number, orders: number,
 *   quantity: number, signal: AbortSignal, onProgress: (done: number) => void, persistent?: boolean }} sale `persistent`:
 *   buyers send an order again that could not be served
 */
export async function runSale({
  shop,
  sku,
  path,
  stock,
  orders,
  quantity,
  signal,
  onProgress,
  persistent = false,
}) {
  const stocked = await shop.setStock(sku, stock);
  if (stocked.status !== 200) {
    throw new SetupError(
      `The article could not be stocked: ${stocked.status} ${JSON.stringify(stocked.body)}`,
    );
  }

  const outcomes = new Map();
  const durations = [];
  let done = 0;
  let started = 0;
  let sentAgain = 0;
  const send = (buyer) =>
    shop.order(buyer, path, { sku, quantity }).then(
      ({ status, body }) => ({ outcome: status, message: body?.message }),
      (error) => ({ outcome: error.code ?? error.message }),
    );
  const buy = async (buyer) => {
    const startedAt = performance.now();
    let { outcome, message } = await send(buyer);
    while (persistent && MAY_BE_SENT_AGAIN.includes(outcome)) {
      signal.throwIfAborted();
      sentAgain++;
      await elapse(100 + Math.random() * 200);
      ({ outcome, message } = await send(buyer));
    }
    signal.throwIfAborted();
    durations.push(performance.now() - startedAt);
    const { count = 0, example = message } = outcomes.get(outcome) ?? {};
    outcomes.set(outcome, { count: count + 1, example });
    onProgress(++done);
  };
  const buyAll = async (buyer) => {
    while (started < orders) {
      started++;
      await buy(buyer);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: buyersOf(orders) }, (_, buyer) => buyAll(buyer)));
  const seconds = (performance.now() - startedAt) / 1_000;

  const levels = await shop.levels(sku);
  return summary({ stock, orders, quantity, outcomes, durations, seconds, levels, sentAgain });
}

function summary({ stock, orders, quantity, outcomes, durations, seconds, levels, sentAgain }) {
  const accepted = outcomes.get(201)?.count ?? 0;
  const rejected = outcomes.get(409)?.count ?? 0;
  const sold = accepted * quantity;
  const sorted = durations.sort((a, b) => a - b);
  const percentile = (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  return {
    accepted,
    rejected,
    sold,
    left: levels[0].stock,
    oversold: Math.max(0, sold - stock),
    /** Everything but sold and sold out, by status or error code, with what the first of them was told. */
    failures: [...outcomes]
      .filter(([outcome]) => outcome !== 201 && outcome !== 409)
      .map(([outcome, { count, example }]) => ({ outcome, count, example })),
    /** How often an order was sent again. */
    sentAgain,
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
