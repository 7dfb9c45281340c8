import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

/** The environment of this process, without the URL of the user's server. */
export function withoutRedisUrl(): NodeJS.ProcessEnv {
  const { REDIS_URL: _, ...rest } = process.env;
  return rest;
}

type Row = Record<string, number>;

/** The rows of the printed table by name, with numbers without units. */
export function readTable(output: string): Record<string, Row> {
  const lines = output.split('\n');
  const head = lines.findIndex((line) => /^\s+sold\s+left/.test(line));
  const titles = lines[head]!.trim().split(/\s{2,}/);
  const rows: Record<string, Row> = {};
  for (const line of lines.slice(head + 1, head + 3)) {
    const [name, ...cells] = line.split(/\s{2,}/);
    rows[name!] = {};
    titles.forEach((title, column) => (rows[name!]![title] = Number.parseInt(cells[column]!, 10)));
  }
  return rows;
}

/** All processes with `mark` in their environment, which children inherit even if their parent changes. */
export function processesWith(mark: string): { pid: number; command: string }[] {
  if (process.platform !== 'linux') {
    const list = execFileSync('ps', ['-AwwE', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
    return list
      .filter((line) => line.includes(mark))
      .map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark)) return [];
        return [
          {
            pid: Number(name),
            command: readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' '),
          },
        ];
      } catch {
        // It has exited meanwhile.
        return [];
      }
    });
}
