import { describe, expect, it } from '@jest/globals';
import { readCommandLine, UsageError } from '../../bench/command-line.mjs';

const ROWS = ['M1', 'M2', 'M13'];
const STORES = { postgres: ['M1', 'M4'] };
const read = (...args: string[]) => readCommandLine(args, ROWS, STORES, ['M16']);

describe('the command line of npm run bench', () => {
  it('measures and writes everything without arguments', () => {
    expect(read()).toEqual({
      rows: ROWS,
      quick: false,
      write: true,
      help: false,
      page: false,
      against: undefined,
      store: undefined,
    });
  });

  it('measures the rows of another store, and writes them unless the rounds are short', () => {
    expect(read('--store', 'postgres')).toMatchObject({
      rows: ['M1', 'M4'],
      store: 'postgres',
      write: true,
    });
    expect(read('--store', 'postgres', 'M4')).toMatchObject({ rows: ['M4'], write: false });
    expect(read('--store', 'postgres', '--quick')).toMatchObject({ quick: true, write: false });
  });

  it('measures named rows in their order, and writes them only on request', () => {
    expect(read('m13', 'M1')).toMatchObject({ rows: ['M1', 'M13'], write: false });
    expect(read('M2', '--write')).toMatchObject({ rows: ['M2'], write: true });
  });

  it('measures some rows only when they are named, on every store', () => {
    expect(read('M16', '--write')).toMatchObject({ rows: ['M16'], write: true, store: undefined });
    expect(read('m16', '--store', 'postgres')).toMatchObject({ rows: ['M16'], store: 'postgres' });
    expect(read('M16', 'M1').rows).toEqual(['M1', 'M16']);
  });

  it('writes no results of short rounds and comparisons', () => {
    expect(read('--quick')).toMatchObject({ rows: ROWS, quick: true, write: false });
    expect(read('--against', 'v0.1.0', '--quick', 'M1')).toMatchObject({
      rows: ['M1'],
      quick: true,
      write: false,
      against: 'v0.1.0',
    });
  });

  it.each([
    [['M3'], 'There is no row M3. Rows are M1 M2 M13 M16.'],
    [['--fast'], "Unknown option '--fast'"],
    [['--quick', '--write'], '--quick measures too little to be written'],
    [['--against', 'HEAD', '--write'], '--against compares two builds and writes nothing'],
    [['--against', 'HEAD', 'M16'], '--against does not compare M16.'],
    [['--against'], "'--against <value>' argument missing"],
    [['--against', ''], '--against needs a revision: a commit, a tag or a branch; got "".'],
    [['--against=--all'], 'got "--all"'],
    [['--against', 'HEAD M1'], 'got "HEAD M1"'],
    [['--store', 'mysql'], '--store must be one of postgres; got "mysql"'],
    [['--store', 'postgres', 'M2'], 'There is no row M2. Rows are M1 M4 M16.'],
    [['--store', 'postgres', '--against', 'HEAD'], '--store measures one build'],
    [['--page', '--store', 'postgres'], '--page measures nothing'],
    [['--page', 'M1'], '--page takes no rows'],
    [['--page', '--quick'], '--page measures nothing'],
    [['--page', '--against', 'HEAD'], '--page measures nothing'],
  ])('rejects %j with the reason', (args, message) => {
    const attempt = (): unknown => read(...args);
    expect(attempt).toThrow(UsageError);
    expect(attempt).toThrow(message);
  });
});
