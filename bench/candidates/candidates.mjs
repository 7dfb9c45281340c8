/**
 * @typedef {object} OpenCandidate
 * @property {string} version
 * @property {(key: string, fn: () => unknown) => Promise<unknown>} withLock acquires the lock, runs fn, releases the lock
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Candidate
 * @property {string} id `<file>:<variant>`
 * @property {string} label as tables show it
 * @property {'floor' | 'ours' | 'peer' | 'ideal'} kind
 * @property {string} variant of this library: the measured call. Of peers: `readme`, the settings of the README, or
 *   `tuned`: unlimited retries, the lightest API, and the retry interval with the most holds under M3 and M4, among 0, 1,
 *   2, 5, 10, 20, 40 and 80 ms. Shorter intervals saturate the server with polling. With longer intervals, one caller
 *   acquires the lock repeatedly while the others sleep.
 * @property {object} settings
 * @property {boolean} shares whether its locks can admit several holders
 * @property {string} [build] of this library: URL of another build
 *
 * @typedef {{ mode: 'shared' } | { limit: number }} Sharing options of this library that admit several holders
 */

/** Those whose locks admit several holders, if they are opened with `sharing`. */
const SHARING = ['ours:withLock', 'redis-semaphore:readme', 'redis-semaphore:tuned', 'no-lock:readme'];
/** The candidates for Redis. */
export const ON_REDIS = [
  'floor',
  'ours',
  'redlock',
  'sesamecare-redlock',
  'redis-semaphore',
  'redlock-universal',
  'simple-redis-mutex',
  'no-lock',
];

const load = (file) => import(`./${file}.mjs`);

/** The candidates of a file. This process uses only their descriptions: each candidate runs in its own processes. */
export async function candidatesOf(file) {
  const { name, kind, settings, labels = {} } = await load(file);
  return Object.keys(settings).map((variant) => ({
    id: `${file}:${variant}`,
    label: labels[variant] ?? (variant === 'tuned' ? `${name} (tuned)` : name),
    kind,
    variant,
    settings: settings[variant],
    shares: SHARING.includes(`${file}:${variant}`),
  }));
}

/** @param {Sharing} [sharing] for candidates whose locks admit several holders */
export async function openCandidate(id, url, sharing) {
  const [file, variant] = id.split(':');
  const { open, settings } = await load(file);
  return await open(url, settings[variant], sharing, variant);
}
