import { candidatesOf } from '../candidates/candidates.mjs';
import { Actor } from '../harness/actor.mjs';
import { startDelayProxy } from '../harness/delay-proxy.mjs';
import { Fleet } from '../harness/fleet.mjs';

/**
 * A figure of one build of this library that can be measured repeatedly, for comparing two revisions.
 *
 * @typedef {object} Gauge
 * @property {string} what
 * @property {string} unit
 * @property {boolean} [thorough] omitted from the short check, since it adds little to the other gauges of its row
 * @property {'more' | 'less'} better
 * @property {(context: { url: string, stats: import('../harness/server.mjs').ServerStats, short: boolean }, build?: string) =>
 *   Promise<OpenGauge>} open throws if the build does not support it
 *
 * @typedef {object} OpenGauge
 * @property {() => Promise<number>} sample must not affect another build that is open on the same server, whose keys may
 *   have another format
 * @property {() => Promise<unknown>} close
 */

const SHORT_MS = 300;
/** Before the delay is switched on: with it, there are too few holds to warm up a process. */
const WARM_UP_MS = 1_000;

/** The figures of a load. On a machine with other work, processor time is more reliable than holds per second. */
const FIGURES = {
  perSecond: { unit: 'holds/s', better: 'more', of: ({ perSecond }) => perSecond },
  client: { unit: 'µs/hold', better: 'less', of: ({ micros }) => micros.client },
  server: { unit: 'µs/hold', better: 'less', of: ({ micros }) => micros.server },
};

/**
 * A gauge of a load.
 *
 * @param {{ what: string, use: string, figure?: keyof typeof FIGURES, processes?: number, sharing?: object, plan: object,
 *   delayMs?: number, thorough?: boolean }} load
 */
export function loadGauge({
  what,
  use,
  figure = 'perSecond',
  processes = 1,
  sharing,
  plan,
  delayMs,
  thorough,
}) {
  const { unit, better, of } = FIGURES[figure];
  return {
    what,
    unit,
    better,
    thorough,
    async open({ url, stats, short }, build) {
      const [file] = use.split(':');
      const candidate = (await candidatesOf(file)).find(({ id }) => id === use);
      const proxy = delayMs === undefined ? undefined : await startDelayProxy(url);
      const fleet = new Fleet({ ...candidate, build }, processes, proxy?.url ?? url, sharing);
      const close = () => Promise.all([fleet.close(), proxy?.close()]);
      try {
        await fleet.open();
      } catch (error) {
        await close();
        throw error;
      }
      const { callers, keysPerCaller, sectionMs } = plan;
      const durationMs = short ? Math.min(SHORT_MS, plan.durationMs) : plan.durationMs;
      if (proxy !== undefined) {
        await fleet.run({ callers, keysPerCaller, sectionMs, durationMs: WARM_UP_MS }, stats);
        await proxy.delay(delayMs);
      }
      return {
        async sample() {
          const result = await fleet.run({ callers, keysPerCaller, sectionMs, durationMs }, stats);
          if (result.served === 0 && result.failed > 0) throw new Error(result.errors[0].join(': '));
          return of(result);
        },
        close,
      };
    },
  };
}

/** A gauge of a new process for each sample. */
export function freshGauge({ sample, ...gauge }) {
  return {
    ...gauge,
    open: async (context, build) => ({ sample: () => sample(context, build), close: async () => undefined }),
  };
}

/**
 * A gauge of the result of one actor.
 *
 * @param {{ what: string, unit: string, better: 'more' | 'less', file: string, execArgv?: string[],
 *   start: (actor: Actor, url: string) => Promise<unknown>, sample: (actor: Actor) => Promise<number> }} gauge
 */
export function actorGauge({ what, unit, better, file, execArgv, start, sample }) {
  return {
    what,
    unit,
    better,
    async open({ url }, build) {
      const actor = new Actor(file, { execArgv, build });
      try {
        await start(actor, url);
      } catch (error) {
        await actor.kill();
        throw error;
      }
      return { sample: () => sample(actor), close: () => actor.kill() };
    },
  };
}
