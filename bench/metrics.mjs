/**
 * `node bench/metrics.mjs`: the cost of metrics and spans for an uncontended lock, in one process with a private Redis.
 * Switches the instruments on and off between rounds. Writes nothing.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Registry } from 'prom-client';
import { ensureBuild, ensureRedisServer } from '../.scripts/setup.mjs';
import { holdCosts } from './harness/hold-costs.mjs';
import { startPrivateRedis } from './harness/private-redis.mjs';

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

ensureBuild();
// The instruments are single modules of it.
process.env['BENCH_BUILD'] = './unbundled-build.mjs';
const { openApplication } = await import('./candidates/ours.mjs');
const redis = await startPrivateRedis(ensureRedisServer().path);
const { app, locks } = await openApplication({ redis: redis.url });
try {
  const instruments = await instrumentsOf(locks);
  const hold = () => locks.withLock('key', { operation: 'bench' }, nothing);
  const ways = Object.fromEntries(Object.keys(instruments).map((name) => [name, hold]));
  const around = (name) => {
    const stops = instruments[name].map((part) => part.start());
    return () => stops.forEach((stop) => stop());
  };
  const costs = await holdCosts(ways, { rounds: 15, roundMs: 500, around });
  for (const [name, cost] of Object.entries(costs)) {
    const figures = ['took', 'cpu'].map((what) => {
      const more = name === 'off' ? '' : ` (${(cost[what] - costs.off[what]).toFixed(1)} more)`;
      return `${cost[what].toFixed(1)} µs${more}`;
    });
    console.log(`${name.padEnd(33)} per hold: ${figures[0]}; processor time: ${figures[1]}`);
  }
} finally {
  await app.close();
  redis.stop();
}
// The metric reader has a timer that would keep the process alive.
process.exit();
