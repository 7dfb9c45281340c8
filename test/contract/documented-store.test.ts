import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { samplesOf } from '../package/samples.js';
import { lockStoreContract } from './lock-store.contract.js';
import { stores } from './stores.js';
import type { StoreFactory } from './store-under-test.js';

/** The class of the documentation page, which imports types only. */
async function documentedStore(): Promise<new (inner: LockStore) => LockStore> {
  const code = samplesOf('docs/stores/custom-store.md').find(({ code }) =>
    code.includes('class CountingStore'),
  )?.code;
  if (code === undefined) throw new Error('the page has no CountingStore');
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const folder = mkdtempSync(join(tmpdir(), 'documented-store-'));
  try {
    const file = join(folder, 'counting-store.mjs');
    writeFileSync(file, outputText);
    const { CountingStore } = (await import(pathToFileURL(file).href)) as {
      CountingStore: new (inner: LockStore) => LockStore;
    };
    return CountingStore;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const documented: StoreFactory = async () => {
  const [inner, CountingStore] = [await stores.memory(), await documentedStore()];
  return {
    ...inner,
    options: () => ({ store: new CountingStore(inner.port()) }),
    port: () => new CountingStore(inner.port()),
  };
};

lockStoreContract('the store of the documentation', documented);

describe('the store of the documentation', () => {
  it('has every member of the store that it wraps', async () => {
    const inner: Required<LockStore> = {
      name: 'memory',
      place: 'prefix "lock:"',
      clock: { now: () => 0 } as unknown as NonNullable<LockStore['clock']>,
      open: (client) => new MemoryLockStore().open(client),
    };
    const CountingStore = await documentedStore();
    const members = new CountingStore(inner) as unknown as Record<string, unknown>;
    for (const [name, value] of Object.entries(inner)) {
      if (typeof value === 'function') expect(typeof members[name]).toBe('function');
      else if (name === 'name') expect(members[name]).toContain(value);
      else expect(members[name]).toBe(value);
    }
  });
});
