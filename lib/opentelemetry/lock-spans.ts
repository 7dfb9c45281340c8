import {
  context,
  SpanKind,
  SpanStatusCode,
  trace as globalTrace,
  type Attributes,
  type Context,
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
import { INSTRUMENTATION } from './instrumentation.js';

export type WhichSpans = 'waits' | 'all' | 'none';

/** A call that was granted within this, ms, has not waited. */
const AT_ONCE = 10;

interface Call {
  readonly startTime: number;
  readonly startedAt: number;
  readonly parent: Context;
  queued: boolean;
}

/** Spans of calls for locks, and of work under them. */
export class LockSpans {
  private readonly tracer: Tracer;
  private readonly calls = new Map<AcquireTrace, Call>();
  /** Calls that have not been queued yet, by their keys. */
  private readonly unqueued = new Map<string, Set<Call>>();
  /** Of work under locks, by what events say of the holds. */
  private readonly holds = new Map<string, Span>();

  constructor(
    provider: TracerProvider | undefined,
    private readonly which: WhichSpans,
    private readonly recordKeys: boolean,
  ) {
    this.tracer = (provider ?? globalTrace).getTracer(INSTRUMENTATION);
  }

  start(): void {
    acquireChannel.start.subscribe(this.onAcquire);
    acquireChannel.asyncEnd.subscribe(this.onAcquired);
    holdChannel.start.subscribe(this.onHold);
    holdChannel.asyncEnd.subscribe(this.onHeld);
    eventChannel.subscribe(this.onEvent);
  }

  stop(): void {
    acquireChannel.start.unsubscribe(this.onAcquire);
    acquireChannel.asyncEnd.unsubscribe(this.onAcquired);
    holdChannel.start.unsubscribe(this.onHold);
    holdChannel.asyncEnd.unsubscribe(this.onHeld);
    eventChannel.unsubscribe(this.onEvent);
  }

  private readonly onAcquire = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const call: Call = {
      startTime: Date.now(),
      startedAt: performance.now(),
      parent: context.active(),
      queued: false,
    };
    this.calls.set(trace, call);
    for (const key of trace.keys) {
      const others = this.unqueued.get(key);
      if (others === undefined) this.unqueued.set(key, new Set([call]));
      else others.add(call);
    }
  };

  /** The span is made when it is known whether there is to be one. */
  private readonly onAcquired = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const call = this.calls.get(trace);
    this.calls.delete(trace);
    if (call === undefined) return;
    for (const key of trace.keys) {
      const others = this.unqueued.get(key);
      if (others?.delete(call) === true && others.size === 0) this.unqueued.delete(key);
    }
    const { name, outcome = 'granted', error, waitTime } = trace;
    const tookMs = performance.now() - call.startedAt;
    const isOfInterest = outcome !== 'granted' || call.queued || tookMs > AT_ONCE;
    if (this.which !== 'all' && !isOfInterest) return;
    const attributes: Attributes = {
      ...this.attributesOf(trace),
      'distributed_lock.outcome': outcome,
      ...(Number.isFinite(waitTime) && { 'distributed_lock.wait_time': waitTime }),
    };
    const options = { kind: SpanKind.CLIENT, startTime: call.startTime, attributes };
    const span = this.tracer.startSpan(`lock acquire ${name}`, options, call.parent);
    if (call.queued) span.addEvent('queued');
    // Who skips does so on purpose.
    if (outcome !== 'granted' && outcome !== 'skipped') fail(span, error);
    span.end(call.startTime + tookMs);
  };

  private readonly onHold = (message: unknown): void => {
    const trace = message as HoldTrace;
    const attributes = this.attributesOf(trace);
    const span = this.tracer.startSpan(`lock hold ${trace.name}`, { kind: SpanKind.INTERNAL, attributes });
    for (const name of namesOf(trace)) this.holds.set(name, span);
    const inner = globalTrace.setSpan(context.active(), span);
    trace.around = (work) => context.with(inner, work);
    this.spans.set(trace, span);
  };

  private readonly onHeld = (message: unknown): void => {
    const trace = message as HoldTrace;
    const span = this.spans.get(trace);
    if (span === undefined) return;
    for (const name of namesOf(trace)) if (this.holds.get(name) === span) this.holds.delete(name);
    if (trace.error !== undefined) fail(span, trace.error);
    span.end();
  };

  private readonly spans = new WeakMap<HoldTrace, Span>();

  private readonly onEvent = (message: unknown): void => {
    const { event } = message as LockEventMessage;
    if (event.type === 'queued') {
      for (const call of this.unqueued.get(event.key) ?? []) call.queued = true;
      this.unqueued.delete(event.key);
    } else if (event.type === 'renewal-failed' || event.type === 'lost') {
      const span = this.holds.get(`${event.key} ${String(event.token)}`);
      if (event.type === 'lost') span?.addEvent('lost', { 'distributed_lock.reason': event.reason });
      else span?.addEvent('renewal-failed', { 'error.type': event.error.name });
    }
  };

  private attributesOf({ instance, name, mode, keys }: AcquireTrace | HoldTrace): Attributes {
    return {
      'distributed_lock.name': name,
      'distributed_lock.mode': mode,
      ...(instance !== undefined && { 'distributed_lock.module': instance }),
      ...(this.recordKeys && { 'distributed_lock.keys': [...keys] }),
    };
  }
}

/** A hold by its key and token, as its events have them. */
function namesOf({ handle }: HoldTrace): readonly string[] {
  return [...handle.tokens].map(([key, token]) => `${key} ${String(token)}`);
}

function fail(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
