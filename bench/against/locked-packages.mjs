/**
 * Whether everything that one lock file names is installed in the same version; what is installed beside it does no
 * harm. A package that is only wanted on other machines may be missing.
 *
 * @param {Record<string, { version?: string }>} installed `packages` of `node_modules/.package-lock.json`
 * @param {Record<string, { version?: string, link?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean }>} wanted
 *   `packages` of a `package-lock.json`
 * @returns {boolean}
 */
export function holdsAllOf(installed, wanted) {
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') || entry.link) return true;
    const found = installed[path];
    return found
      ? found.version === entry.version
      : Boolean(entry.optional || entry.devOptional || entry.peer);
  });
}
