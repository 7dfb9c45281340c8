/**
 * `node bench/metrics.mjs`: the cost of metrics and spans for an uncontended lock, in one process with a private Redis.
 * Switches the instruments on and off between rounds. Writes nothing.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Registry } from 'prom-client';
import { ensureBuild, ensureRedisServer } from '../.scripts/setup.mjs';
import { startPrivateRedis } from './harness/private-redis.mjs';
import { spreadOf } from './harness/statistics.mjs';

const ROUNDS = 15;
const ROUND_MS = 500;
const nothing = () => undefined;

/** The instruments as their modules compose them. */
async function instrumentsOf(locks) {
  const require = createRequire(import.meta.url);
  const { LockGauges } = require('../build/cjs/instruments/lock-gauges.js');
  const { LockRecorder } = require('../build/cjs/instruments/lock-recorder.js');
  const { LockCollectors } = require('../build/cjs/prometheus/lock-collectors.js');
  const { LockMeters } = require('../build/cjs/opentelemetry/lock-meters.js');
  const { LockSpans } = require('../build/cjs/opentelemetry/lock-spans.js');
  const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
  const {
    AggregationTemporality,
    InMemoryMetricExporter,
    MeterProvider,
    PeriodicExportingMetricReader,
  } = require('@opentelemetry/sdk-metrics');
  const { BasicTracerProvider } = require('@opentelemetry/sdk-trace-base');
  const { context } = require('@opentelemetry/api');
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

  const gauges = new LockGauges(() => [locks]);
  const collectors = new LockCollectors(new Registry());
  collectors.register(gauges);
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
  const meters = new LockMeters(new MeterProvider({ readers: [reader] }), gauges);
  return {
    off: [],
    Prometheus: [new LockRecorder(collectors)],
    'OpenTelemetry, metrics': [new LockRecorder(meters)],
    'OpenTelemetry, metrics and spans': [
      new LockRecorder(meters),
      new LockSpans(new BasicTracerProvider(), 'waits', false),
    ],
  };
}

/** Duration and processor time per `withLock`, µs. Other load hardly affects the processor time. */
async function round(locks) {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let holds = 0;
  while (performance.now() - startedAt < ROUND_MS) {
    for (let i = 0; i < 100; i++) await locks.withLock('key', { operation: 'bench' }, nothing);
    holds += 100;
  }
  const took = ((performance.now() - startedAt) / holds) * 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { took, cpu: (user + system) / holds };
}

ensureBuild();
// The instruments are single modules of it.
process.env['BENCH_BUILD'] = './unbundled-build.mjs';
const { openApplication } = await import('./candidates/ours.mjs');
const redis = await startPrivateRedis(ensureRedisServer().path);
const { app, locks } = await openApplication({ redis: redis.url });
try {
  const instruments = await instrumentsOf(locks);
  const samples = Object.fromEntries(Object.keys(instruments).map((name) => [name, []]));
  for (let turn = 0; turn <= ROUNDS; turn++) {
    for (const [name, parts] of Object.entries(instruments)) {
      const stops = parts.map((part) => part.start());
      const sample = await round(locks);
      for (const stop of stops) stop();
      // The first turn is a warm-up.
      if (turn > 0) samples[name].push(sample);
    }
  }
  const of = (name, what) => spreadOf(samples[name].map((sample) => sample[what])).median;
  for (const name of Object.keys(samples)) {
    const figures = ['took', 'cpu'].map((what) => {
      const more = name === 'off' ? '' : ` (${(of(name, what) - of('off', what)).toFixed(1)} more)`;
      return `${of(name, what).toFixed(1)} µs${more}`;
    });
    console.log(`${name.padEnd(33)} per hold: ${figures[0]}; processor time: ${figures[1]}`);
  }
} finally {
  await app.close();
  redis.stop();
}
// The metric reader has a timer that would keep the process alive.
process.exit();
