import { setTimeout as elapse } from 'node:timers/promises';
import { SetupError } from '../../.scripts/setup.mjs';

/** Bounds the number of sockets. Further orders start when earlier ones are answered. */
const MAX_IN_FLIGHT = 1_000;

/** Status codes of a lock that timed out and of an unreachable store: nothing was sold, so the order can be retried. */
const RETRIED_STATUSES = [423, 503];

/**
 * Stocks a new article, sells it to all buyers concurrently, and counts.
 *
 * @param {{ urls: string[], sku: string, path: string, stock: number, orders: number, quantity: number, signal: AbortSignal,
 *   onProgress: (done: number) => void, retriesOrders: boolean }} sale `urls`: of the instances; `retriesOrders`: whether
 *   buyers retry an order that could not be served
 */
export async function runSale(sale) {
  const { urls, sku, path, stock, orders, quantity, signal, onProgress, retriesOrders } = sale;
  const call = async (instance, method, to, body) => {
    const headers = body && { 'content-type': 'application/json' };
    const url = new URL(to, urls[instance % urls.length]);
    const reply = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal });
    return { status: reply.status, body: await reply.json() };
  };
  const stocked = await call(0, 'PUT', `/inventory/${sku}`, { stock });
  if (stocked.status !== 200) {
    throw new SetupError(
      `The article could not be stocked: ${stocked.status} ${JSON.stringify(stocked.body)}`,
    );
  }

  const outcomes = new Map();
  const durations = [];
  let done = 0;
  let started = 0;
  let retries = 0;
  const send = (buyer) =>
    call(buyer, 'POST', path, { sku, quantity }).then(
      ({ status, body }) => ({ outcome: status, message: body.message }),
      (error) => ({ outcome: error.cause?.code ?? error.message }),
    );
  const buy = async (buyer) => {
    const startedAt = performance.now();
    let { outcome, message } = await send(buyer);
    while (retriesOrders && RETRIED_STATUSES.includes(outcome)) {
      signal.throwIfAborted();
      retries++;
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
  const buyers = Math.min(orders, MAX_IN_FLIGHT);
  await Promise.all(Array.from({ length: buyers }, (_, buyer) => buyAll(buyer)));
  const seconds = (performance.now() - startedAt) / 1_000;

  const replies = await Promise.all(urls.map((_, instance) => call(instance, 'GET', `/inventory/${sku}`)));
  const levels = replies.map(({ body }) => body);
  return summary({ stock, orders, quantity, outcomes, durations, seconds, levels, retries });
}

function summary({ stock, orders, quantity, outcomes, durations, seconds, levels, retries }) {
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
    /** All other outcomes than sold and sold out, by status or error code, each with the first message. */
    failures: [...outcomes]
      .filter(([outcome]) => outcome !== 201 && outcome !== 409)
      .map(([outcome, { count, example }]) => ({ outcome, count, example })),
    /** The number of retried orders. */
    retries,
    perSecond: orders / seconds,
    p50: percentile(0.5),
    p99: percentile(0.99),
    /** The content of the database, as each instance reads it. */
    levels,
  };
}

/** How much can be sold: the orders that fit into the stock. */
export function sellable({ stock, orders, quantity }) {
  return Math.min(orders, Math.floor(stock / quantity)) * quantity;
}
