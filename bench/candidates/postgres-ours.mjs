import { postgresStore } from '../../dist/esm/stores/postgres/index.js';
import { labels, openApplication, settings, USES, version } from './ours.mjs';

/** The library with its locks in PostgreSQL, as an application uses it. */
export const name = 'nestjs-distributed-lock';
export const kind = 'ours';
export { labels, settings };

export async function open(url, _options, _sharing, variant) {
  const { app, locks } = await openApplication({ store: postgresStore({ connection: url }) });
  return {
    version,
    withLock: USES[variant](locks),
    close: () => app.close(),
  };
}
