import { describe, expect, it } from '@jest/globals';
import { checkFormat, UnknownFormatError } from '../../../../lib/stores/port/stored-format.js';
import { notConnectedTo } from '../../../../lib/stores/port/store-failure.js';

const check = (mark: string | null | undefined): void => {
  checkFormat(mark, 'Redis at here:6379', 'keyPrefix');
};

describe('the format of stored locks', () => {
  it.each([undefined, null, '1', '1 1.4.0'])('is known without a mark, and with the mark %p', (mark) => {
    expect(() => {
      check(mark);
    }).not.toThrow();
  });

  it('of a later version is refused by its name, with what to do', () => {
    const refused = (): void => {
      check('2 3.0.0');
    };
    expect(refused).toThrow(UnknownFormatError);
    expect(refused).toThrow(
      'Redis at here:6379 keeps locks in format "2", written by version 3.0.0 of nestjs-distributed-lock; this version knows ' +
        'only format 1. Upgrade this process, or separate its locks by keyPrefix',
    );
  });

  it.each(['', 'x', `2${'0'.repeat(1_000)}`])('is refused if the mark is %p', (mark) => {
    expect(() => {
      check(mark);
    }).toThrow(/^.{1,400}$/);
  });

  it('does not make locks local: the store can be reached', () => {
    const cause = new UnknownFormatError('format 2', { inDoubt: false, retryable: false });
    expect(notConnectedTo('etcd', cause, false, [])).toBe(cause);
    expect(cause.unreachable).toBe(false);
  });
});
