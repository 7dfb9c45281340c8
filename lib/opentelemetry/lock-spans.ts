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
import { subscribeTo } from '../instruments/sources.js';
import { INSTRUMENTATION } from './lock-meters.js';

/** Which spans to create: for calls that waited or failed, for every call, or none. */
export type WhichSpans = 'waits' | 'all' | 'none';

/** Creates spans for calls that acquire locks, and for work under locks. */
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

  /** Returns a function that stops it. */
  start(): () => void {
    return subscribeTo(
      [acquireChannel.asyncEnd, this.onAcquired],
      [holdChannel.start, this.onHold],
      [holdChannel.asyncEnd, this.onHeld],
      [eventChannel, this.onEvent],
    );
  }

  /** Runs in the caller's context, at the end of the call: only then is it known whether to create a span. */
  private readonly onAcquired = (message: unknown): void => {
    const trace = message as AcquireTrace;
    const { operation, outcome = 'granted', error, waitTime, waitingSince, duration = 0 } = trace;
    // A skipped call did what its caller wanted.
    const failed = outcome !== 'granted' && outcome !== 'skipped';
    if (this.which !== 'all' && !failed && waitingSince === undefined) return;
    const endTime = Date.now();
    const span = this.tracer.startSpan(`lock acquire ${operation}`, {
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
    const span = this.tracer.startSpan(`lock hold ${trace.operation}`, {
      attributes: this.attributesOf(trace),
    });
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
      for (const span of this.holds.spansOf(instance, event)) {
        span.setAttribute('distributed_lock.outcome', 'lost');
        span.addEvent('lost', { 'distributed_lock.reason': event.reason });
      }
    } else if (event.type === 'renewal-failed') {
      for (const span of this.holds.spansOf(instance, event)) {
        span.addEvent('renewal-failed', { 'error.type': event.error.name });
      }
    }
  };

  private attributesOf({ instance, operation, mode, keys }: AcquireTrace | HoldTrace): Attributes {
    return {
      'distributed_lock.operation': operation,
      'distributed_lock.mode': mode,
      ...(instance !== undefined && { 'distributed_lock.instance': instance }),
      ...(this.recordKeys && { 'distributed_lock.keys': [...keys] }),
    };
  }

  /** Omits the messages of lock errors, which contain keys, unless keys are recorded. */
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

interface HoldId {
  readonly key: string;
  readonly token: number;
}

/** The open spans of work under a lock. Nested work may run under the same hold. */
class HoldSpans {
  private readonly byHold = new Map<string, Map<HoldTrace, Span>>();

  begin(trace: HoldTrace, span: Span): void {
    for (const id of idsOf(trace)) {
      const spans = this.byHold.get(id) ?? new Map<HoldTrace, Span>();
      this.byHold.set(id, spans.set(trace, span));
    }
  }

  /** Returns the span of work that has ended; undefined if the work began before the subscription. */
  end(trace: HoldTrace): Span | undefined {
    let span: Span | undefined;
    for (const id of idsOf(trace)) {
      const spans = this.byHold.get(id);
      span = spans?.get(trace);
      spans?.delete(trace);
      if (spans?.size === 0) this.byHold.delete(id);
    }
    return span;
  }

  spansOf(instance: string | undefined, hold: HoldId): Iterable<Span> {
    return this.byHold.get(idOf(instance, hold))?.values() ?? [];
  }
}

function idsOf({ instance, handle }: HoldTrace): readonly string[] {
  return [...handle.tokens].map(([key, token]) => idOf(instance, { key, token }));
}

function idOf(instance: string | undefined, { key, token }: HoldId): string {
  return JSON.stringify([instance, key, token]);
}
