import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
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
