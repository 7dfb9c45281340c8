import { HttpException } from '@nestjs/common';
import { STANDS_FOR, type LockError } from '../../model/lock.errors.js';
import { answerTo, publicMessageOf, type HttpSettings } from '../requests/answers.js';

/**
 * Takes the place of a lock error in front of filters that know nothing of locks: an `HttpException` with the status of
 * the answer, so that they answer it as any other, and for `instanceof` a lock error all the same. What it shows by
 * itself, its message and trace included, does not contain the key.
 */
export class LockHttpException extends HttpException {
  constructor(error: LockError, http: Exclude<HttpSettings, false>) {
    const body = answerTo(error, http);
    super(body, body.statusCode);
    this.name = error.name;
    standFor(error, this);
    // For filters that look for the status where other libraries put it.
    hide(this, 'statusCode', body.statusCode);
  }
}

/** Takes the place of a lock error in GraphQL, where `extensions` go to the client as they are, and the message does. */
export function graphQLErrorOf(error: LockError): LockError {
  const message = publicMessageOf(error);
  const standIn = Object.create(error, {
    message: { value: message, configurable: true, writable: true },
    extensions: { value: { code: error.code } },
  }) as LockError;
  standFor(error, standIn);
  return standIn;
}

/** Lets code that knows lock errors read what the error carries. */
function standFor(error: LockError, standIn: Error): void {
  for (const [name, value] of Object.entries(error)) if (!(name in standIn)) hide(standIn, name, value);
  hide(standIn, STANDS_FOR, error);
  hide(standIn, 'cause', error);
  hide(
    standIn,
    'stack',
    error.stack?.replace(error.message, () => standIn.message),
  );
}

/** Not enumerable: a filter that spreads the exception into its answer must not tell the key. */
function hide(standIn: Error, name: string | symbol, value: unknown): void {
  Object.defineProperty(standIn, name, { value, enumerable: false, configurable: true, writable: true });
}
