/** What the tests of the page, and its screenshots, need of a browser. Plain Node without dependencies. */
import { installWithApt } from './setup.mjs';
import { findProgram, isProgram, mayUseApt } from './unpacked-programs.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ELSEWHERE = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

/** The path of a Chromium that is there, by `CHROMIUM`, on PATH, or where macOS has it. */
function findChromium() {
  const named = process.env['CHROMIUM'];
  if (named) return isProgram(named) ? named : undefined;
  return NAMES.map((name) => findProgram(name)).find(Boolean) ?? ELSEWHERE.find(isProgram);
}

/**
 * Finds Chromium, and installs it where apt may be used (root on Debian or Ubuntu).
 *
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {string | undefined} its path; without one, the tests of the page are skipped
 */
export function ensureChromium({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
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
