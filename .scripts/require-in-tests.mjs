import { createRequire } from 'node:module';

/** The core is built as CommonJS, and loads optional peers by `require`. Tests run its sources as ES modules. */
globalThis.require = createRequire(import.meta.url);
