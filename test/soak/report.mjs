const count = (counts) =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, times]) => `${times} ${name}`)
    .join(', ') || 'none';

/** The outcome of a run as text. */
export function reportOf({ findings, figures }) {
  const lines = figures.takeovers === undefined ? linesOfLocks(figures) : linesOfElection(figures);
  for (const { kind, at, story } of findings.list) lines.push(`FOUND ${kind} at ${at.toFixed(1)}: ${story}`);
  if (findings.list.length > 0) lines.push(`findings    ${count(findings.counts)}`);
  return lines.join('\n');
}

function linesOfElection({ processes, terms, takeovers, faults, dropped }) {
  const figuresOf = ({ count: judged, median, longest }) =>
    `${median.toFixed(0)} ms (median), longest ${longest.toFixed(0)} ms, in ${judged} cases`;
  return [
    `processes   ${processes}`,
    `leaders     ${terms}`,
    `takeover    ${figuresOf(takeovers.crash)}`,
    `hand-over   ${figuresOf(takeovers.handOver)} of resignation and shutdown`,
    `not judged  ${takeovers.notJudged} takeovers, since others had faults, too`,
    `faults      ${count(faults)}`,
    `dropped     ${dropped} pushed events`,
  ];
}

function linesOfLocks(figures) {
  const { granted, certainHolds, failed, outcomes, processes, lost, doomedHolds, writes } = figures;
  const { latest, overtaken, handOver, faults, dropped, calls, second } = figures;
  return [
    `processes   ${processes}`,
    `calls       ${calls}: ${granted} granted; not granted: ${count(failed)}`,
    `holds       ${certainHolds} certain; ${lost} lost, ${doomedHolds} broken from outside`,
    `releases    ${count(outcomes)}`,
    `writes      ${writes.accepted} accepted, ${writes.refused} rejected by their token`,
    `hand-over   ${handOver.median.toFixed(2)} ms (median) from the end of a hold to the next, longest ${handOver.longest.toFixed(0)} ms`,
    `overtaken   at most ${overtaken.anyOrder} times by one process; with fair callers only ${overtaken.strictOrder} times (${overtaken.judged} cases)`,
    `late        at most ${Math.max(0, latest).toFixed(0)} ms after waitTime or abort`,
    `faults      ${count(faults)}`,
    `dropped     ${dropped} pushed events`,
    ...(second ? [`porcupine   ${second.isLinearizable ? '' : 'NOT '}linearizable: ${second.summary}`] : []),
  ];
}
