import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DEVELOPED, ensureNode } from '../../.scripts/setup-node.mjs';

const root = join(import.meta.dirname, '../..');

const fail = (line: string): never => {
  throw new Error(line);
};

describe('the version of Node', () => {
  it('is the same for processes that tests start by the name node', () => {
    expect(execFileSync('node', ['--version'], { encoding: 'utf8' }).trim()).toBe(process.version);
  });

  it('is not fetched where node has it', () => {
    const [major = ''] = process.versions.node.split('.');
    expect(ensureNode(major, { log: fail })).toEqual({
      folder: dirname(process.execPath),
      version: process.versions.node,
    });
  });

  it('that is developed on is supported', () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const [, oldest] = /^>=(\d+)$/.exec(engines.node) ?? [];
    expect(Number(DEVELOPED)).toBeGreaterThanOrEqual(Number(oldest));
  });
});
