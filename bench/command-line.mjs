import { parseArgs } from 'node:util';

/** Something that the user wrote and that can't be done; its message is all that should be printed. */
export class UsageError extends Error {
  name = 'UsageError';
}

export const USAGE = `npm run bench                    measures all rows, M1 to M13; writes docs/performance/
npm run bench -- M3              only this row (or several: M1 M4); writes nothing
npm run bench -- M3 --write      … and replaces this row in docs/performance/
npm run bench -- --quick         all rows with short rounds, to see that everything works; writes nothing
npm run bench -- --help          this text`;

/**
 * @param {string[]} args
 * @param {string[]} known names of rows
 * @returns {{ rows: string[], quick: boolean, write: boolean, help: boolean }}
 * @throws {UsageError}
 */
export function readCommandLine(args, known) {
  const { values, positionals } = parse(args);
  const named = positionals.map((name) => name.toUpperCase());
  const unknown = named.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UsageError(`There is no row ${unknown.join(', ')}. Rows are ${known.join(' ')}.\n\n${USAGE}`);
  }
  const { quick = false, write = false, help = false } = values;
  if (quick && write) {
    throw new UsageError('--quick measures too little to be written. Leave out --quick or --write.');
  }
  const rows = known.filter((name) => named.length === 0 || named.includes(name));
  return { rows, quick, write: write || (!quick && named.length === 0), help };
}

function parse(args) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        write: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${USAGE}`);
  }
}
