/** Finds or installs Chromium for the tests and screenshots of the page. Plain Node without dependencies. */
import { findOrInstall, installWithApt, toStderr } from './setup.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'Google Chrome'];
const FOLDERS = ['/Applications/Google Chrome.app/Contents/MacOS'];

/**
 * Finds Chromium at the path in `CHROMIUM`, on PATH or in the applications of macOS, and installs it where apt may be used.
 *
 * @returns {string | undefined} its path; tests of the page are skipped if undefined
 */
export function ensureChromium({ log = toStderr } = {}) {
  const install = () => installWithApt(['chromium', 'fonts-dejavu-core'], log, () => undefined);
  const path = findOrInstall(NAMES, { variable: 'CHROMIUM', folders: FOLDERS, install });
  if (path === undefined) {
    log(
      'There is no Chromium, and none can be installed: the tests of the page in a browser are skipped. Set CHROMIUM to its path.',
    );
  }
  return path;
}
