import { spawnSync } from 'node:child_process';

/** The findings of the checker that the order of operations on one key shows, too. */
const OF_ONE_KEY = ['overlap', 'token-order', 'token-repeated', 'token-changed'];
/** The last one is about the server's counter; the order of operations shows it only if the key had a larger token. */
const SAFETY = [...OF_ONE_KEY, 'token-fell-back'];

/**
 * @typedef {{ isLinearizable: boolean, summary: string, stories: string[] }} Verdict
 */

/**
 * @param {string} program the judge that uses Porcupine
 * @param {string} history the path of a history
 * @returns {Verdict}
 */
export function askPorcupine(program, history) {
  const { status, stdout, stderr, error } = spawnSync(program, [history], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (status !== 0 && status !== 1) {
    throw new Error(`Porcupine has not judged ${history}: ${error?.message ?? stderr}`);
  }
  const lines = stdout.trim().split('\n');
  return { isLinearizable: status === 0, summary: lines.pop(), stories: lines };
}

/** Whether linearizability can show a bug that is found as one of these. */
export const isVisible = (kinds) => kinds.some((kind) => SAFETY.includes(kind));

/** Adds what the second judge found, and whether the two disagree. */
export function compare(findings, { isLinearizable, stories }) {
  for (const story of stories) findings.add('not-linearizable', 0, story);
  const ours = (isLinearizable ? OF_ONE_KEY : SAFETY).filter((kind) => findings.counts[kind] > 0);
  if (ours.length > 0 !== isLinearizable) return;
  const story = isLinearizable
    ? `the checker found ${ours.join(', ')}, and Porcupine nothing`
    : 'Porcupine found a history that is not linearizable, and the checker nothing';
  findings.add('judges-disagree', 0, story);
}
