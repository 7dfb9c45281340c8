import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import type { ServerReport } from '../../stores/redis/doctor/examine-redis.js';
import type { Finding } from '../../stores/redis/doctor/finding.js';
import type { Command } from '../command.js';
import { examineServers } from '../doctor/examine-servers.js';
import { examineLocks } from '../doctor/examine-locks.js';
import { EXIT } from '../exit-codes.js';
import type { Output } from '../output/output.js';
import { printable } from '../output/printable.js';
import { tableOf } from '../output/table.js';
import { openLocks } from '../place/open-locks.js';

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

export const doctor: Command = {
  summary: 'whether the store is fit for locks, and what to do if not',
  help: `Usage: nestjs-distributed-lock doctor

Looks at each Redis server with the rights that locks have there: connection, version, role, rights, eviction,
persistence, clock and latency; takes a lock, has a second client wait for it, and gives it back, to see whether
waiters are woken by messages (pub/sub). Other stores than Redis tell what their own check at the start finds.
What is not well comes with its remedy. The trial lock has a key of its own; nothing else is written.

Exit codes: 0 no problem, maybe warnings; 1 a problem: locks can't be taken or relied on, or are waited for too long;
64 usage.`,
  options: {},

  async run({ args, output, place }) {
    args.nothingElse();
    const options = await place();
    // A setting that can't work is none of the store's.
    await openLocks(options).close();
    const servers = await examineServers(options);
    const reports = [...servers, await examineLocks(options, servers.length > 0)];
    const isWell = reports.every(({ findings }) => findings.every(({ level }) => level !== 'problem'));
    if (output.json) output.document(documentOf(options, isWell, reports));
    else for (const report of reports) tell(output, report);
    return isWell ? EXIT.ok : EXIT.no;
  },
};

function documentOf(
  { keyPrefix }: DistributedLockOptions,
  isWell: boolean,
  reports: readonly ServerReport[],
): object {
  const findings = reports.flatMap(({ server, findings: some }) => some.map((one) => ({ server, ...one })));
  return { ok: isWell, keyPrefix: keyPrefix ?? 'lock:', findings };
}

function tell(output: Output, { server, findings }: ServerReport): void {
  const rows = tableOf(findings.map(({ level, check }) => [level, check]));
  output.lines(
    output.styled('bold', printable(server)),
    ...findings.map((finding, index) => `  ${line(output, finding, rows[index] ?? '')}`),
  );
}

function line(output: Output, { level, text }: Finding, head: string): string {
  return `${output.styled(STYLES[level], head)}  ${printable(text)}`;
}
