import { parseArgs } from 'node:util';

/** An invalid command line. Only its message is printed. */
export class UsageError extends Error {
  name = 'UsageError';
}

export const USAGE = `npm run bench                       measures all rows but M16 on Redis; writes bench/results, bench/RESULTS.md and the pages
npm run bench -- M3                 only this row (or several: M1 M4); writes nothing
npm run bench -- M3 --write         … and replaces this row in what is written
npm run bench -- --quick            all rows with short rounds, as a smoke test; writes nothing
npm run bench -- --against REV      builds this revision of the repository, too, and compares both; accepts rows
npm run bench -- --against REV --quick   … with short rounds
npm run bench -- --store NAME       another store than Redis against the lock that its users write by hand; accepts rows
                                    (M1 M3 M4 M6 M18), --quick and --write; writes bench/results/NAME.json
npm run bench -- M16                fleets of 1 to 64 processes; accepts --store, --quick and --write; only when named
npm run bench -- redisson           M14: this library beside the locks of Redisson; needs a JDK and Maven; accepts --quick
npm run bench -- --page             measures nothing: regenerates the chart and the figures of all pages
npm run bench -- --help             this text`;

/** Pairs of conflicting options. */
const CONFLICTS = [
  ['quick', 'write', '--quick measures too little to be written. Leave out --quick or --write.'],
  ['against', 'write', '--against compares two builds and writes nothing. Leave out --against or --write.'],
  ['store', 'against', '--store measures one build. Leave out --store or --against.'],
];

/**
 * @param {string[]} allRows their names
 * @param {Record<string, string[]>} [stores] the rows of stores other than Redis, by name of the store
 * @param {string[]} [onlyNamed] rows of every store that are measured only by their name, and not compared
 * @returns {{ rows: string[], quick: boolean, write: boolean, help: boolean, page: boolean, against: string | undefined,
 *   store: string | undefined }}
 */
export function readCommandLine(args, allRows, stores = {}, onlyNamed = []) {
  const { values, positionals } = parse(args);
  const { store } = values;
  if (store !== undefined && !Object.hasOwn(stores, store)) {
    throw new UsageError(`--store must be one of ${Object.keys(stores).join(', ')}; got "${store}".`);
  }
  const usual = store === undefined ? allRows : stores[store];
  const known = [...usual, ...onlyNamed];
  const named = positionals.map((name) => name.toUpperCase());
  const unknown = named.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UsageError(`There is no row ${unknown.join(', ')}. Rows are ${known.join(' ')}.\n\n${USAGE}`);
  }
  const conflict = CONFLICTS.find(([one, other]) => values[one] !== undefined && values[other] !== undefined);
  if (conflict) throw new UsageError(conflict[2]);
  const { quick = false, write = false, help = false, page = false, against } = values;
  if (against !== undefined && !/^[^-\s][^\s]*$/.test(against)) {
    throw new UsageError(`--against needs a revision: a commit, a tag or a branch; got "${against}".`);
  }
  const uncompared = named.filter((name) => against !== undefined && onlyNamed.includes(name));
  if (uncompared.length > 0) throw new UsageError(`--against does not compare ${uncompared.join(', ')}.`);
  const rows = named.length === 0 ? usual : known.filter((name) => named.includes(name));
  const all = !quick && against === undefined && named.length === 0;
  return { rows, quick, write: write || all, help, page, against, store };
}

function parse(args) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        write: { type: 'boolean' },
        page: { type: 'boolean' },
        against: { type: 'string' },
        store: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${USAGE}`);
  }
}
