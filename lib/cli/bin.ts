#!/usr/bin/env node
import { run } from './run.js';

/**
 * The program of the command line. It is an ES module in either build, since `import()` there loads configurations of both
 * kinds; everything else is part of the core.
 */
const { argv, env, stdout, stderr } = process;
const load = (url: string): Promise<unknown> => import(url) as Promise<unknown>;
// ioredis warns there of rights that `doctor` tells of, and the error output has to stay JSON where that is asked for.
Object.assign(console, { warn: () => undefined });
// Connections that a configuration has opened keep nobody waiting.
void run({ argv: argv.slice(2), env, stdout, stderr, load }).then((code) => process.exit(code));
