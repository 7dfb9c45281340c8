import { monotonic } from './monotonic.mjs';

const each = () => true;

/** Where a session hears of what its server tells without being asked, by the store; and what of it is that. */
const RECEIVERS = {
  redis: { file: 'stores/port/pushed-grants.js', type: 'PushedGrants', method: 'receive', isPushed: each },
  postgres: { file: 'stores/port/pushed-grants.js', type: 'PushedGrants', method: 'receive', isPushed: each },
  etcd: {
    file: 'stores/etcd/locks/waited-locks.js',
    type: 'Watches',
    method: 'receive',
    // That a watch begins or ends is an answer.
    isPushed: (_endpoint, { events }) => events.length > 0,
  },
  zookeeper: {
    file: 'stores/zookeeper/zookeeper-session.js',
    type: 'ZooKeeperSession',
    method: 'event',
    isPushed: each,
  },
};

/** What servers push to this process. It can be dropped for a while, and is lost for good then, while answers arrive. */
export class PushedEvents {
  /** How many there were so far. */
  dropped = 0;
  #droppedUntil = 0;

  /**
   * @param {string} store where the locks are
   * @param {(file: string) => Promise<object>} load gives a module of the library by its path
   */
  static async of(store, load) {
    const { file, type, method, isPushed } = RECEIVERS[store];
    const receiver = (await load(file))[type]?.prototype;
    const receive = receiver?.[method];
    if (typeof receive !== 'function') {
      throw new Error(
        `${file} has no ${type}.${method}() any more: test/soak/pushed-events.mjs has to follow.`,
      );
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
