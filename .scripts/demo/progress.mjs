const BAR_WIDTH = 30;
const REDRAW_MS = 50;
const SHARES_WITHOUT_TERMINAL = 4;

/**
 * Shows progress: a bar in a terminal, and a few plain lines elsewhere (CI, a file).
 *
 * @param {string} name
 * @param {number} total
 * @param {NodeJS.WriteStream} out
 * @returns {(done: number) => void}
 */
export function startProgress(name, total, out = process.stdout) {
  return out.isTTY ? drawBar(name, total, out) : printShares(name, total, out);
}

function drawBar(name, total, out) {
  let drawnAt = 0;
  return (done) => {
    const now = Date.now();
    if (done < total && now - drawnAt < REDRAW_MS) return;
    drawnAt = now;
    const filled = Math.round((done / total) * BAR_WIDTH);
    out.write(`\r${name}  ${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}  ${done}/${total}`);
    if (done === total) out.write('\n');
  };
}

function printShares(name, total, out) {
  let printed = 0;
  return (done) => {
    const share = Math.floor((done / total) * SHARES_WITHOUT_TERMINAL);
    if (share === printed) return;
    printed = share;
    out.write(`${name}  ${done}/${total}\n`);
  };
}
