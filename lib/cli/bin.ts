#!/usr/bin/env node
import { run } from './run.js';

/**
 * The executable. It is an ES module, because `import()` of an ES module loads configuration files of both kinds. Everything
 * it imports belongs to the core.
 */
const { argv, env, stdout, stderr } = process;
const load = (url: string): Promise<unknown> => import(url) as Promise<unknown>;
// ioredis warns here about missing rights, which `doctor` reports; with --json, stderr must contain only JSON.
Object.assign(console, { warn: () => undefined });
// Connections that a configuration file has opened must not keep the process alive.
void run({ argv: argv.slice(2), env, stdout, stderr, load }).then((code) => process.exit(code));
