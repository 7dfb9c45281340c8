/**
 * @typedef {object} OpenCandidate
 * @property {string} version
 * @property {(key: string, fn: () => unknown) => Promise<unknown>} withLock takes the lock, runs fn, gives it back
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Candidate
 * @property {string} id `<file>:<variant>`
 * @property {string} label as tables show it
 * @property {'floor' | 'ours' | 'peer'} kind
 * @property {'readme' | 'tuned'} variant settings of its README; or tuned in its favour: unlimited retries, the lightest
 *   API, and the interval that served most under M3 and M4 among 0, 1, 2, 5, 10, 20, 40 and 80 ms. Shorter ones drown in
 *   their own polling; with longer ones a caller takes the lock again and again while the others sleep.
 * @property {object} settings
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

const load = (file) => import(`./${file}.mjs`);

/**
 * Everything that can be measured, each in its own process: only the description is used here.
 *
 * @returns {Promise<Candidate[]>}
 */
export async function allCandidates() {
  const described = await Promise.all(
    FILES.map(async (file) => {
      const { name, kind, settings } = await load(file);
      return Object.keys(settings).map((variant) => ({
        id: `${file}:${variant}`,
        label: variant === 'tuned' ? `${name} (tuned)` : name,
        kind,
        variant,
        settings: settings[variant],
      }));
    }),
  );
  return described.flat();
}

/**
 * @param {string} id
 * @param {string} url
 * @returns {Promise<OpenCandidate>}
 */
export async function openCandidate(id, url) {
  const [file, variant] = id.split(':');
  const { open, settings } = await load(file);
  return await open(url, settings[variant]);
}
