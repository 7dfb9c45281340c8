import { monotonic } from './monotonic.mjs';

const each = () => true;

const GRANTS = {
  file: 'stores/port/pushed-grants.js',
  type: 'PushedGrants',
  method: 'receive',
  isPushed: each,
};

/** Where a session receives pushed messages, by store, and which of its messages are pushed. */
const RECEIVERS = {
  redis: GRANTS,
  'one-address': GRANTS,
  sentinel: GRANTS,
  cluster: GRANTS,
  quorum: GRANTS,
  postgres: GRANTS,
  etcd: {
    file: 'stores/etcd/lock-watches.js',
    type: 'Watches',
    method: 'receive',
    // The begin or end of a watch is a reply.
    isPushed: (_endpoint, { events }) => events.length > 0,
  },
  zookeeper: {
    file: 'stores/ordered/acquirer.js',
    type: 'Acquirer',
    method: 'onChanged',
    isPushed: each,
  },
};

/** Pushed messages to this process. They can be dropped for a while, for good, while replies arrive. */
export class PushedEvents {
  /** The number of dropped messages. */
  dropped = 0;
  #droppedUntil = 0;

  /**
   * @param {string} store where the locks are
   * @param {(file: string) => Promise<object>} load imports a module of the library by its path
   */
  static async of(store, load) {
    const { file, type, method, isPushed } = RECEIVERS[store];
    const receiver = (await load(file))[type]?.prototype;
    const receive = receiver?.[method];
    if (typeof receive !== 'function') {
      throw new Error(`${file} has no ${type}.${method}() any more. Update test/soak/pushed-events.mjs.`);
    }
    const events = new PushedEvents();
    receiver[method] = function (...args) {
      if (monotonic() < events.#droppedUntil && isPushed(...args)) events.dropped += 1;
      else receive.apply(this, args);
    };
    return events;
  }

  /** @param {number} ms from now on */
  drop(ms) {
    this.#droppedUntil = Math.max(this.#droppedUntil, monotonic() + ms);
  }
}
