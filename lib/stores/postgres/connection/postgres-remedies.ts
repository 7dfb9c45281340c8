import type { Remedy } from '../../port/store-failure.js';

/** SQLSTATE codes of what PostgreSQL answers, and what to do. */
export const postgresRemedies: readonly Remedy[] = [
  {
    says: /\b(28P01|28000)\b|SASL|password/,
    advice:
      'PostgreSQL accepts neither this user nor this password, or not from this machine: check both, and pg_hba.conf.',
  },
  {
    says: /\b42501\b/,
    advice: 'Give the user the rights that it lacks; the log at start lists the GRANT lines.',
  },
  {
    says: /\b25006\b|read-only|standby/,
    advice: 'Use the address of the primary; during a failover it passes by itself.',
  },
  { says: /\b53100\b/, advice: 'The disk of PostgreSQL is full: make room.' },
  { says: /\b53200\b/, advice: 'PostgreSQL is out of memory: lower what it may use, or add memory.' },
  { says: /\b53300\b/, advice: 'Raise `max_connections`, or find out who opens so many connections.' },
  { says: /\b3D000\b/, advice: 'Create the database, or correct its name at the end of the URL.' },
  {
    says: /\b(3F000|42883|42P01)\b/,
    advice:
      'Is the schema of locks up to date? Run what postgresMigration() gives, or set createSchema: true.',
  },
  { says: /does not support SSL/, advice: 'TLS is used on one side only: use it on both, or on neither.' },
];
