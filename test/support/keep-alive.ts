import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second. */
const MS_PER_TICK = 10;
const KEEP_ALIVE_TIMER = '02';

/**
 * In how many ms TCP tests each idle connection to this port of the machine for the first time; undefined for a connection
 * that it does not test. Only on Linux.
 */
export function keepAliveOfConnectionsTo(port: number): readonly (number | undefined)[] {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , to = '', state]) => to.endsWith(remote) && state === '01')
    .map(([, , , , , timer = '']) => {
      const [kind, left = ''] = timer.split(':');
      return kind === KEEP_ALIVE_TIMER ? Number.parseInt(left, 16) * MS_PER_TICK : undefined;
    });
}
