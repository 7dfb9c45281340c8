// An application that starts inside a span and uses locks, with the agent that `--require` has loaded.
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { trace } = require('@opentelemetry/api');
const { Redis } = require('ioredis');
const { DistributedLockModule, LockService } = require('nestjs-distributed-lock');

/** The arguments of our scripts, as whatever wraps `sendCommand` sees them. */
const seen = [];
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (command, ...rest) {
  if (command.name === 'evalsha') seen.push([...(command.args ?? [])].map(String));
  return sendCommand.call(this, command, ...rest);
};

class AppModule {}
Module({ imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL })] })(AppModule);

const tracer = trace.getTracer('application');
const inSpan = (name, work) =>
  tracer.startActiveSpan(name, async (span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });

async function main() {
  const app = await inSpan('bootstrap', () =>
    NestFactory.createApplicationContext(AppModule, { logger: false }),
  );
  const locks = app.get(LockService);
  let [inside, most, done] = [0, 0, 0];
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    done += 1;
  };
  for (let call = 0; call < 20; call += 1) await locks.withLock('one', work);
  await Promise.all(Array.from({ length: 20 }, () => locks.withLock('many', work)));
  await inSpan('request', () => locks.withLock('one', work));
  const held = await locks.acquire('held');
  const busy = await locks.acquire('held', { waitTime: 20 }).catch(({ code }) => code);
  await held.release();
  await app.close();
  const shown = seen.length > 0 && seen.every(([digest, keys]) => digest?.length === 40 && Number(keys) > 0);
  console.log(`RESULT ${JSON.stringify({ done, most, busy, shown })}`);
}

void main();
