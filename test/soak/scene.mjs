import 'reflect-metadata';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { copyBuild } from './build-copy.mjs';
import { LateProxy } from './late-proxy.mjs';
import { endAll } from './lifeline.mjs';
import { monotonic } from './monotonic.mjs';
import { moduleOptions } from './servers/module-options.mjs';
import { serverOf } from './servers/servers.mjs';

const PROGRESS = 10_000;
/** How long the processes may take to finish their work and to close, ms. */
const PATIENCE = 30_000;

/** The resources of a run: its own folder, a copy of the build, a server, a log, and an operator. */
export class Scene {
  static #directories = new Set();

  directory = mkdtempSync(join(tmpdir(), 'lock-soak-'));
  build = copyBuild(this.directory);
  log = join(this.directory, 'coordinator.log');
  #file = openSync(this.log, 'a');
  #operator;
  #operatorProxy;

  /** @param {string} store where the locks are; `program`: what was set up for its server */
  constructor(store, program) {
    this.store = store;
    this.server = serverOf(store, { program, directory: this.directory, build: this.build });
    this.witnesses = join(this.directory, 'witnesses');
    mkdirSync(this.witnesses);
    Scene.#directories.add(this.directory);
  }

  /** After an interrupt: logs of half a run are of no use. */
  static removeAll() {
    for (const directory of Scene.#directories) rmSync(directory, { recursive: true, force: true });
  }

  record = (event) => {
    writeSync(this.#file, `${JSON.stringify({ t: monotonic(), ...event })}\n`);
  };

  /** A client of its own that breaks locks. */
  async operator() {
    const { DistributedLockModule, LockAdmin } = await import(pathToFileURL(this.build.entry).href);
    // As for the processes: the port changes when the primary does.
    this.#operatorProxy = new LateProxy(...this.server.targets);
    await this.#operatorProxy.open();
    const url = this.server.urlAt(...this.#operatorProxy.ports);
    this.#operator = await NestFactory.createApplicationContext(
      DistributedLockModule.forRoot(await moduleOptions(this.store, url, this.build.entry)),
      { logger: false },
    );
    return this.#operator.get(LockAdmin);
  }

  /** The course of a run: some minutes of faults, or of undisturbed work if `faults` has none; then all processes close. */
  async pass(minutes, fleet, faults, { what, log, hasFaults = true }) {
    const began = monotonic();
    const end = began + minutes * 60_000;
    const progress = setInterval(() => {
      const seconds = ((monotonic() - began) / 1_000).toFixed(0).padStart(5);
      log(`${seconds} s: ${fleet.holds} ${what}, ${faults.count} faults`);
    }, PROGRESS);
    try {
      if (hasFaults) await faults.run(end);
      else await elapse(end - monotonic());
      this.record({ e: 'ending' });
      await fleet.endAll(PATIENCE);
    } finally {
      clearInterval(progress);
    }
    log('checking the history …');
  }

  /** Closes everything; the logs stay if they are still of use. */
  async close({ keepLogs }) {
    await this.#operator?.close();
    this.#operatorProxy?.close();
    await this.server.close();
    await endAll();
    closeSync(this.#file);
    Scene.#directories.delete(this.directory);
    if (keepLogs) rmSync(join(this.directory, 'build'), { recursive: true, force: true });
    else rmSync(this.directory, { recursive: true, force: true });
  }
}
