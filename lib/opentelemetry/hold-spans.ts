import type { Span } from '@opentelemetry/api';
import type { HoldTrace } from '../model/lock-channels.js';

/** A hold as events tell of it. */
interface ToldHold {
  readonly key: string;
  readonly token: number;
}

/** The spans of work that runs under a lock, and which holds it has. Work inside work may have the same hold. */
export class HoldSpans {
  private readonly spans = new Map<HoldTrace, Span>();
  private readonly byHold = new Map<string, Set<Span>>();

  begin(trace: HoldTrace, span: Span): void {
    this.spans.set(trace, span);
    for (const id of idsOf(trace)) {
      const others = this.byHold.get(id);
      if (others === undefined) this.byHold.set(id, new Set([span]));
      else others.add(span);
    }
  }

  /** The span of work that is over. */
  end(trace: HoldTrace): Span | undefined {
    const span = this.spans.get(trace);
    if (span === undefined) return undefined;
    this.spans.delete(trace);
    for (const id of idsOf(trace)) {
      const all = this.byHold.get(id);
      all?.delete(span);
      if (all?.size === 0) this.byHold.delete(id);
    }
    return span;
  }

  of(instance: string | undefined, hold: ToldHold): Iterable<Span> {
    return this.byHold.get(idOf(instance, hold)) ?? [];
  }
}

function idsOf({ instance, handle }: HoldTrace): readonly string[] {
  return [...handle.tokens].map(([key, token]) => idOf(instance, { key, token }));
}

function idOf(instance: string | undefined, { key, token }: ToldHold): string {
  return JSON.stringify([instance, key, token]);
}
