import {
  context,
  SpanStatusCode,
  trace as globalTrace,
  type Attributes,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import {
  acquireChannel,
  eventChannel,
  holdChannel,
  type AcquireTrace,
  type HoldTrace,
  type LockEventMessage,
} from '../model/lock-channels.js';
import { LockError } from '../model/lock.errors.js';
import { Subscriptions } from '../instruments/subscriptions.js';
import { HoldSpans } from './hold-spans.js';
import { INSTRUMENTATION } from './instrumentation.js';

/** Which spans are made: for calls that waited or failed, for every call, or none. */
export type WhichSpans = 'waits' | 'all' | 'none';

/** Makes spans of calls for locks, and of work under them. */
export class LockSpans {
  private readonly tracer: Tracer;
  private readonly holds = new HoldSpans();

  constructor(
    provider: TracerProvider | undefined,
    private readonly which: WhichSpans,
    private readonly recordKeys: boolean,
  ) {
    this.tracer = (provider ?? globalTrace).getTracer(INSTRUMENTATION);
  }

  start(): void {
    this.subscriptions.start();
  }

  stop(): void {
    this.subscriptions.stop();
  }

  /** The span is made when it is known whether there is to be one, still in the context of the caller. */
  private readonly onAcquired = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const { name, outcome = 'granted', error, waitTime, waitingSince, duration = 0 } = trace;
    // Who skips does so on purpose.
    const failed = outcome !== 'granted' && outcome !== 'skipped';
    const isOfInterest = failed || waitingSince !== undefined;
    if (this.which !== 'all' && !isOfInterest) return;
    const endTime = Date.now();
    const span = this.tracer.startSpan(`lock acquire ${name}`, {
      startTime: endTime - duration,
      attributes: {
        ...this.attributesOf(trace),
        'distributed_lock.outcome': outcome,
        ...(Number.isFinite(waitTime) && { 'distributed_lock.wait_time': waitTime / 1_000 }),
      },
    });
    if (waitingSince !== undefined) span.addEvent('queued', waitingSince);
    if (failed) this.fail(span, error);
    span.end(endTime);
  };

  private readonly onHold = (message: unknown): void => {
    const trace = message as HoldTrace;
    const span = this.tracer.startSpan(`lock hold ${trace.name}`, { attributes: this.attributesOf(trace) });
    this.holds.begin(trace, span);
    const inside = globalTrace.setSpan(context.active(), span);
    const { around } = trace;
    trace.around = (work) => context.with(inside, () => (around === undefined ? work() : around(work)));
  };

  private readonly onHeld = (message: unknown): void => {
    const trace = message as HoldTrace;
    const span = this.holds.end(trace);
    if (span === undefined) return;
    if (trace.error !== undefined) this.fail(span, trace.error);
    span.end();
  };

  private readonly onEvent = (message: unknown): void => {
    const { instance, event } = message as LockEventMessage;
    if (event.type === 'lost') {
      const { reason } = event;
      for (const span of this.holds.of(instance, event)) {
        span.setAttribute('distributed_lock.outcome', 'lost');
        span.addEvent('lost', { 'distributed_lock.reason': reason });
      }
    } else if (event.type === 'renewal-failed') {
      for (const span of this.holds.of(instance, event)) {
        span.addEvent('renewal-failed', { 'error.type': event.error.name });
      }
    }
  };

  private readonly subscriptions = new Subscriptions([
    [acquireChannel.asyncEnd, this.onAcquired],
    [holdChannel.start, this.onHold],
    [holdChannel.asyncEnd, this.onHeld],
    [eventChannel, this.onEvent],
  ]);

  private attributesOf({ instance, name, mode, keys }: AcquireTrace | HoldTrace): Attributes {
    return {
      'distributed_lock.name': name,
      'distributed_lock.mode': mode,
      ...(instance !== undefined && { 'distributed_lock.module': instance }),
      ...(this.recordKeys && { 'distributed_lock.keys': [...keys] }),
    };
  }

  /** Messages of lock errors contain keys. */
  private fail(span: Span, error: unknown): void {
    if (error instanceof Error) span.setAttribute('error.type', error.name);
    if (error instanceof LockError && !this.recordKeys) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      return;
    }
    if (error instanceof Error) span.recordException(error);
    span.setStatus({
      code: SpanStatusCode.ERROR,
      message: error instanceof Error ? error.message : String(error),
    });
  }
}
