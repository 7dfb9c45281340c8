/** Finds or installs Chromium for the tests and screenshots of the page. Plain Node without dependencies. */
import { installWithApt, toStderr } from './setup.mjs';
import { findProgram, isProgram, mayUseApt } from './unpacked-programs.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ELSEWHERE = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

/** The path in `CHROMIUM`, or that of a Chromium on PATH or in the applications of macOS. */
function findChromium() {
  const named = process.env['CHROMIUM'];
  if (named) return isProgram(named) ? named : undefined;
  return NAMES.map((name) => findProgram(name)).find(Boolean) ?? ELSEWHERE.find(isProgram);
}

/**
 * Finds Chromium, and installs it where apt may be used (root on Debian or Ubuntu).
 *
 * @returns {string | undefined} its path; tests of the page are skipped if undefined
 */
export function ensureChromium({ log = toStderr } = {}) {
  const found = findChromium();
  if (found !== undefined) return found;
  const named = process.env['CHROMIUM'];
  if (named) {
    log(`CHROMIUM is ${named}, which is no program: the tests of the page in a browser are skipped.`);
    return undefined;
  }
  if (mayUseApt()) installWithApt(['chromium', 'fonts-dejavu-core'], log, () => undefined);
  const installed = findChromium();
  if (installed === undefined)
    log(
      'There is no Chromium, and none can be installed: the tests of the page in a browser are skipped. Set CHROMIUM to its path.',
    );
  return installed;
}
