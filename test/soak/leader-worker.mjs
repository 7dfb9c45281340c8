// One process of an election under test: a candidate, and at times the leader. It records what it observes, and draws no
// conclusions. The fleet starts it with its settings as the only argument.
import 'reflect-metadata';
import { once } from 'node:events';
import { setTimeout as elapse } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { monotonic } from './monotonic.mjs';
import { obey, observeProcess } from './observer.mjs';
import { PushedEvents } from './pushed-events.mjs';
import { Random } from './random.mjs';
import { load, moduleOptions } from './servers/module-options.mjs';

const settings = JSON.parse(process.argv[2]);
const { DistributedLockModule } = await import(pathToFileURL(settings.build).href);
const { LeaderElectionModule, OnElected, getLeaderElectionToken } = await load(
  settings.build,
  'leader/index.js',
);
const pushed = await PushedEvents.of(settings.store, (file) => load(settings.build, file));
const { record, logger, end } = observeProcess(settings);
const random = new Random(settings.seed);

/** How often the process asks whether it is the leader, ms. */
const LOOK = 5;
/** The work of a leader goes on for up to this time after its end, ms. */
const LAST_STEP = 50;

class Office {
  async lead({ signal, token }) {
    if (!signal.aborted) await once(signal, 'abort');
    await elapse(random.between(0, LAST_STEP));
    record({ e: 'work-ended', tok: token });
  }
}
const lead = Object.getOwnPropertyDescriptor(Office.prototype, 'lead');
OnElected('office')(Office.prototype, 'lead', lead);

class Candidate {}
Module({
  imports: [
    DistributedLockModule.forRoot({
      ...(await moduleOptions(settings.store, settings.url, settings.build)),
      shutdownTimeout: 4_000,
    }),
    LeaderElectionModule.forFeature('office', {
      key: settings.key,
      watchdogTimeout: settings.watchdogTimeout,
    }),
  ],
  providers: [Office],
})(Candidate);

const app = await NestFactory.createApplicationContext(Candidate, { logger });
const election = app.get(getLeaderElectionToken('office'));
record({ e: 'candidate' });
let terms = 0;

/** The moment of use: a process that is stopped believes nothing meanwhile. */
function look() {
  const b = monotonic();
  const { leadership } = election;
  if (leadership !== undefined) record({ e: 'leads', b, tok: leadership.token });
}

const reportProgress = () =>
  process.send?.({ leads: election.isLeader, holds: terms, dropped: pushed.dropped });
election.leadership$.subscribe(({ type, token, reason }) => {
  if (type === 'elected') terms += 1;
  look();
  record({ e: type, tok: token, reason });
  reportProgress();
});
const looking = setInterval(look, LOOK);

/** Asks the leader to end its term. */
function leave() {
  const { leadership } = election;
  if (leadership !== undefined) record({ e: 'leaves', tok: leadership.token });
}

/** Closes the application as a SIGTERM would. */
async function finish() {
  leave();
  const began = monotonic();
  record({ e: 'closing' });
  await app.close();
  record({ e: 'closed', took: monotonic() - began });
  clearInterval(looking);
  reportProgress();
  end();
  process.disconnect();
}

/** The only other order. */
function resign() {
  leave();
  void election.resign();
}

obey({ pushed, finish, others: resign });
