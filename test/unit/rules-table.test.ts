import { describe, expect, it } from '@jest/globals';
import { countRules, rulesTable } from '../../.scripts/rules-table.mjs';

const RULES = `
- **B10** waitTime counts from the call. _unit, contract_
- **B11** "Held by others" and "could not be asked" are different errors and are never mixed up, whoever asks. _unit_

- **F1** A server that is killed. _faults_
`;

const file = (name: string, ...tests: readonly (readonly [status: string, ...titles: string[]])[]) => ({
  testFilePath: `/somewhere/test/${name}.test.ts`,
  testResults: tests.map(([status, ...titles]) => ({
    status,
    title: titles.at(-1) ?? '',
    ancestorTitles: titles.slice(0, -1),
  })),
});

describe('the table of rules', () => {
  const tables = countRules([
    file('contract/zookeeper', ['passed', 'B10: waits'], ['failed', 'B10: waits again']),
    file(
      'contract/memory',
      ['passed', 'the contract', 'B10, B11: waits'],
      ['passed', 'B11: errors', 'one'],
      ['passed', 'something else'],
      ['pending', 'B10: left out'],
    ),
    file('contract/etcd', ['pending', 'needs etcd']),
    file('faults/etcd-cluster', ['passed', 'F1: killed']),
    file('faults/etcd-faults', ['passed', 'F1: killed once more']),
  ]);

  it('counts passed and failed tests of each store by the rule numbers in titles and headings', () => {
    const lines = rulesTable(tables, RULES)
      .split('\n')
      .filter((line) => /^\w/.test(line))
      .map((line) => line.split(/ {2,}/));
    expect(lines).toEqual([
      ['Tests in test/contract by rule and store (one with two numbers counts for both):'],
      ['rule', 'memory', 'zookeeper'],
      ['B10', 'waitTime counts from the call.', '1', '1 (1 failed)'],
      ['B11', '"Held by others" and "could not be asked" are different…', '2', '–'],
      ['no number', '1', '–'],
      ['Tests in test/faults by rule and store (one with two numbers counts for both):'],
      ['rule', 'etcd'],
      ['F1', 'A server that is killed.', '2'],
    ]);
  });
});
