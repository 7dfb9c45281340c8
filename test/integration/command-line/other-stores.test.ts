import { beforeAll, describe, expect, it } from '@jest/globals';
import { CommandLine } from '../../support/command-line.js';
import { TestFolder } from '../../support/test-folder.js';

/** A store without the optional methods of the port. */
const BARE = (memory: string): string => `
  import { MemoryLockStore } from '${memory}';
  const store = new MemoryLockStore();
  const open = (client) => {
    const session = store.open(client);
    const methods = ['start', 'acquire', 'release', 'renew', 'inspect', 'breakHold', 'close'];
    return Object.fromEntries(methods.map((name) => [name, session[name].bind(session)]));
  };
  export default { store: { name: 'a store of mine', open } };`;

describe('O25: the command line with a store without optional abilities', () => {
  const folder = new TestFolder();
  let config: string;
  beforeAll(async () => {
    const memory = new URL('../../../dist/esm/index.js', import.meta.url).href;
    config = await folder.write('bare.mjs', BARE(memory));
  });

  it.each([['list'], ['watch']])('%s reports the missing ability, with an alternative', async (command) => {
    const ended = await CommandLine.run([command, '--config', config]);
    expect(ended).toMatchObject({ code: 64, stdout: '' });
    expect(ended.stderr).toMatch(
      /^nestjs-distributed-lock: .*this store cannot list its locks\. Inspect one by its key/,
    );
  });

  it('show, lock and doctor work', async () => {
    const [show, lock, doctor] = await Promise.all([
      CommandLine.run(['show', 'k', '--config', config]),
      CommandLine.run(['lock', 'k', '--config', config, '--', process.execPath, '-e', 'process.exit(7)']),
      CommandLine.run(['doctor', '--config', config]),
    ]);
    expect(show).toMatchObject({ code: 1, stdout: 'k is free\n', stderr: '' });
    expect(lock).toMatchObject({ code: 7, stderr: '' });
    expect(doctor).toMatchObject({ code: 0, stderr: '' });
  });
});
