import { LockOptionsError } from './lock.errors.js';

const COLLECT = 'Collect its values inside, and return them.';

/** A result whose work begins after the function has returned it. */
export interface LateWork {
  /** Its kind, with an article. */
  readonly what: string;
  /** What to do instead, as a sentence. */
  readonly remedy: string;
}

/** Recognises a result whose work begins, or goes on, only when its receiver reads it. Awaited results only. */
export function lateWork(result: unknown): LateWork | undefined {
  // `in` instead of a read: a mock or a proxy may have every property that is read.
  if (typeof result !== 'object' || result === null) return undefined;
  if (Symbol.asyncIterator in result) return isRead(result) ? undefined : iterableOf(result);
  if ('lift' in result && 'subscribe' in result && 'pipe' in result) {
    return {
      what: 'an Observable',
      remedy: 'Await firstValueFrom() or lastValueFrom() of it inside, and return the value.',
    };
  }
  if ('getStream' in result && 'getHeaders' in result) return isInMemory(result) ? undefined : FILE;
  const tag = Object.prototype.toString.call(result);
  if (tag === '[object Generator]') return { what: 'a generator', remedy: COLLECT };
  if (tag !== '[object Response]') return undefined;
  const { body, bodyUsed } = result as Partial<Response>;
  return body === null || bodyUsed === true ? undefined : RESPONSE;
}

/** The error for a result whose work would begin after the release; undefined for any other result. */
export function refusalOf(who: string, result: unknown): LockOptionsError | undefined {
  const late = lateWork(result);
  // A socket is of use without being read.
  if (late === undefined || 'remoteAddress' in (result as object)) return undefined;
  end(result);
  return new LockOptionsError(
    `${who} returned ${late.what}, whose work would begin after the lock was released. ${late.remedy}`,
  );
}

/** Nobody reads it any more: an error of it would end the process, and it would keep its file or connection. */
function end(result: unknown): void {
  const { on, destroy } = result as Partial<Record<'on' | 'destroy', (...args: readonly unknown[]) => void>>;
  if (typeof on !== 'function' || typeof destroy !== 'function') return;
  on.call(result, 'error', () => undefined);
  destroy.call(result);
}

const FILE: LateWork = {
  what: 'a StreamableFile',
  remedy: 'Read its content inside, or return it from a request handler under @Locked.',
};

const RESPONSE: LateWork = {
  what: 'a Response whose body has not been read',
  remedy: 'Read it inside, for example with await response.json(), and return the result.',
};

/** A stream of Node that has ended. */
function isRead(iterable: object): boolean {
  const { readableEnded, destroyed } = iterable as Partial<Record<string, unknown>>;
  return readableEnded === true || destroyed === true;
}

function iterableOf(result: object): LateWork {
  const name = (result.constructor as { readonly name: string } | undefined)?.name ?? 'Object';
  if (Object.prototype.toString.call(result) === '[object AsyncGenerator]') {
    return { what: 'an async generator', remedy: COLLECT };
  }
  if ('getReader' in result) return { what: 'a ReadableStream', remedy: COLLECT };
  if ('pipe' in result)
    return { what: name === 'Readable' ? 'a Readable' : `a stream (${name})`, remedy: COLLECT };
  return { what: name === 'Object' ? 'an async iterable' : `an async iterable (${name})`, remedy: COLLECT };
}

/** A `StreamableFile` of Nest that was created from a buffer. */
function isInMemory(file: object): boolean {
  const { getStream, getHeaders } = file as Partial<Record<string, unknown>>;
  if (typeof getStream !== 'function' || typeof getHeaders !== 'function') return true;
  const stream = (getStream.call(file) ?? {}) as { readonly readableLength?: unknown };
  const { length } = (getHeaders.call(file) ?? {}) as { readonly length?: unknown };
  return length !== undefined && stream.readableLength === length;
}
