import { describe, expect, it } from '@jest/globals';
import { notConnected, postgresFailure } from '../../../../lib/stores/postgres/postgres-failure.js';

/** An error of PostgreSQL, as pg reports it. */
function answer(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error('an answer'), { code, severity });
}

const failureOf = (code: string, severity?: string): unknown => postgresFailure(answer(code, severity));

describe('P32: whether a failed statement was carried out', () => {
  it.each(['ERROR', 'FEHLER', 'ERREUR', 'エラー'])(
    'not at all, if the server rejects it with the severity %s, which means that it is reachable',
    (severity) => {
      for (const code of ['3F000', '42883', '42501', '22P05']) {
        expect(failureOf(code, severity)).toMatchObject({
          inDoubt: false,
          retryable: false,
          unreachable: false,
        });
      }
      for (const code of ['40P01', '40001', '55P03', '57014', '25006']) {
        expect(failureOf(code, severity)).toMatchObject({
          inDoubt: false,
          retryable: true,
          unreachable: false,
        });
      }
    },
  );

  it.each(['08006', '08P01', '57P01', '57P02', '57P03', '57P04', '57P05', '25P03', '25P04'])(
    'is unknown if the connection ends with %s in any language',
    (code) => {
      for (const severity of ['FATAL', 'ERROR', 'SCHWERWIEGEND']) {
        expect(failureOf(code, severity)).toMatchObject({
          inDoubt: true,
          retryable: true,
          unreachable: true,
        });
      }
    },
  );

  it('is unknown if the server itself may have stopped, but it was reachable', () => {
    for (const code of ['53100', '58030', 'XX000']) {
      expect(failureOf(code, 'PANIK')).toMatchObject({ inDoubt: true, unreachable: false });
      expect(failureOf(code, 'PANIC')).toMatchObject({ inDoubt: true, unreachable: true });
      expect(failureOf(code)).toMatchObject({ inDoubt: false, unreachable: false });
    }
  });

  it('a full queue of notifications is temporary', () => {
    expect(failureOf('54000')).toMatchObject({ inDoubt: false, retryable: true, unreachable: false });
  });

  it('a connection that the server rejects is not a lost one, in any language', () => {
    for (const severity of ['FATAL', 'SCHWERWIEGEND']) {
      expect(notConnected(answer('28P01', severity))).toMatchObject({ unreachable: false });
      expect(notConnected(answer('57P03', severity))).toMatchObject({ unreachable: true });
    }
  });
});

it.each([
  ['no more connections allowed (max_client_conn)', /PgBouncer has no connection left/],
  ['query_wait_timeout', /PgBouncer has no connection left/],
  ['no answer within 2.0 s', /SHOW POOLS/],
])('a full pool of PgBouncer is named: %s', (message, advice) => {
  const isOfPooler = !message.startsWith('no answer');
  const cause = Object.assign(new Error(message), isOfPooler && { code: '08P01', severity: 'FATAL' });
  expect(notConnected(cause).advice).toMatch(advice);
});
