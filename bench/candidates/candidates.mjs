/**
 * @typedef {object} OpenCandidate
 * @property {string} version
 * @property {(key: string, fn: () => unknown) => Promise<unknown>} withLock takes the lock, runs fn, gives it back
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Candidate
 * @property {string} id `<file>:<variant>`
 * @property {string} label as tables show it
 * @property {'floor' | 'ours' | 'peer' | 'ideal'} kind
 * @property {string} variant ours: what is called; of the others: `readme`, the settings of its README; or `tuned` in its favour: unlimited retries, the lightest
 *   API, and the interval that served most under M3 and M4 among 0, 1, 2, 5, 10, 20, 40 and 80 ms. Shorter ones drown in
 *   their own polling; with longer ones a caller takes the lock again and again while the others sleep.
 * @property {object} settings
 * @property {boolean} shares whether it is for locks that several may hold at once
 * @property {string} [build] of ours: URL of the module to load it from, where it is not the build of this folder
 *
 * @typedef {{ mode: 'shared' } | { limit: number }} Sharing how many may hold a lock at once, as our options say it
 */

const FILES = [
  'floor',
  'ours',
  'redlock',
  'sesamecare-redlock',
  'redis-semaphore',
  'redlock-universal',
  'simple-redis-mutex',
];
/** For locks that several may hold at once. */
const SHARING_FILES = ['ours-shares', 'redis-semaphore-shares', 'no-lock'];

const load = (file) => import(`./${file}.mjs`);

/**
 * Everything that can be measured, each in its own process: only the description is used here.
 *
 * @returns {Promise<Candidate[]>}
 */
export async function allCandidates() {
  return (await Promise.all([...FILES, ...SHARING_FILES].map(candidatesOf))).flat();
}

/**
 * @param {string} file
 * @returns {Promise<Candidate[]>}
 */
export async function candidatesOf(file) {
  const { name, kind, settings, labels = {} } = await load(file);
  return Object.keys(settings).map((variant) => ({
    id: `${file}:${variant}`,
    label: labels[variant] ?? (variant === 'tuned' ? `${name} (tuned)` : name),
    kind,
    variant,
    settings: settings[variant],
    shares: SHARING_FILES.includes(file),
  }));
}

/**
 * @param {string} id
 * @param {string} url
 * @param {Sharing} [sharing] for those that share
 * @returns {Promise<OpenCandidate>}
 */
export async function openCandidate(id, url, sharing) {
  const [file, variant] = id.split(':');
  const { open, settings } = await load(file);
  return await open(url, settings[variant], sharing, variant);
}
