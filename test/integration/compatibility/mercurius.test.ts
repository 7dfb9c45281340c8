import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { within } from '../../support/until.js';

const script = fileURLToPath(new URL('mercurius-app.mjs', import.meta.url));

describe('lock errors over GraphQL with Mercurius', () => {
  let child: ChildProcess | undefined;
  afterEach(() => void child?.kill());

  const start = async (http: 'on' | 'off') => {
    const started = spawn(process.execPath, [script, http], { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    const [line] = (await within(60_000, 'the application', once(started.stdout, 'data'))) as [Buffer];
    const url = `${line.toString().trim()}/graphql`;
    return async (query: string) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ query }),
      });
      return { status: response.status, text: await response.text() };
    };
  };

  it('B41: a busy resolver answers as one that fails: 200 with its code, and without the key', async () => {
    const ask = await start('on');
    expect((await ask('{ broken }')).status).toBe(200);
    for (const query of ['{ locked }', 'mutation { change }']) {
      const { status, text } = await ask(query);
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({
        errors: [
          {
            message: 'The resource is in use by another request. Try again later.',
            extensions: { code: 'LOCK_TIMEOUT' },
          },
        ],
      });
      expect(text).not.toContain('ann@example.com');
    }
  });

  it('B41: with http: false the error is as it was thrown, and the status is 200', async () => {
    const ask = await start('off');
    const { status, text } = await ask('{ locked }');
    expect(status).toBe(200);
    expect(text).toContain('ann@example.com');
  });
});
