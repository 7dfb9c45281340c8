import { ServiceUnavailableException } from '@nestjs/common';

/**
 * The lock was lost during the work, another process holds it by now, and the database rejected our write.
 *
 * 503 and not 409: nothing was sold and nothing is wrong with the order, so the client may send it again. 409 is this
 * API's final answer for "not enough in stock".
 */
export class StaleLockException extends ServiceUnavailableException {
  constructor(sku: string) {
    super(`Article "${sku}" was taken over by a newer request. Nothing was changed; please try again.`);
  }
}
