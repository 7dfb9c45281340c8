import { HandlerScope } from '../../api/end-of-work.js';
import type { LockHandle } from '../../model/lock-handle.js';

/**
 * A body that Nest sends after the handler has returned it: a stream, a `StreamableFile`, a `Response` or an async
 * iterable. It ends when it has been read or the response is over.
 */
export class StreamedBody {
  /** What the handler returns in place of its result. */
  readonly value: unknown;
  readonly ended: Promise<void>;
  private readonly iterable: LockedIterable | undefined;
  private end: () => void = () => undefined;

  /**
   * @param handle the lock, which code of an async iterable can use as if it ran inside the handler
   * @param onEnd called when an async iterable has ended, before its reader knows; may fail the response
   */
  constructor(result: unknown, handle: LockHandle, onEnd: () => Promise<void>) {
    this.ended = new Promise((resolve) => (this.end = resolve));
    this.iterable = isOnlyIterable(result)
      ? new LockedIterable(result, handle, () => {
          this.end();
          return onEnd();
        })
      : undefined;
    this.value = this.iterable?.value ?? result;
  }

  /** The response was sent, or its client has gone: work of an async iterable that has begun runs to its end. */
  responseOver(): void {
    if (this.iterable === undefined) this.end();
    else this.iterable.stop();
  }
}

/** Not a stream of Node or the web: Nest, Fastify and interceptors recognise those by their methods. */
function isOnlyIterable(result: unknown): result is AsyncIterable<unknown> {
  return (
    typeof result === 'object' &&
    result !== null &&
    Symbol.asyncIterator in result &&
    !('pipe' in result) &&
    !('getReader' in result)
  );
}

/** Runs an async iterable in the scope of a lock, whoever reads it. */
class LockedIterable {
  /** A literal, because Nest 11 sends an iterable as JSON. */
  readonly value: AsyncIterableIterator<unknown> = {
    [Symbol.asyncIterator]: () => this.value,
    next: () => this.step((iterator) => iterator.next()),
    return: (value?: unknown) =>
      this.step((iterator) => iterator.return?.(value) ?? Promise.resolve({ done: true, value })),
    throw: (error) => this.step((iterator) => iterator.throw?.(error) ?? Promise.reject(error as Error)),
  };
  private readonly scope = new HandlerScope();
  private iterator: AsyncIterator<unknown> | undefined;
  private isOver = false;

  constructor(
    private readonly source: AsyncIterable<unknown>,
    handle: LockHandle,
    private readonly onEnd: () => Promise<void>,
  ) {
    this.scope.own(handle);
  }

  /** Nothing reads it any more. */
  stop(): void {
    if (this.isOver) return;
    if (this.iterator === undefined) void this.end().catch(() => undefined);
    else void this.value.return?.().catch(() => undefined);
  }

  private async step(
    take: (iterator: AsyncIterator<unknown>) => Promise<IteratorResult<unknown>>,
  ): Promise<IteratorResult<unknown>> {
    if (this.isOver) return { done: true, value: undefined };
    let result: IteratorResult<unknown>;
    try {
      result = await this.scope.run(() => take((this.iterator ??= this.source[Symbol.asyncIterator]())));
    } catch (error) {
      await this.end().catch(() => undefined);
      throw error;
    }
    if (result.done === true) await this.end();
    return result;
  }

  private async end(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.scope.close();
    await this.onEnd();
  }
}
