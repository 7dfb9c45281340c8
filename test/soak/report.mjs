const count = (counts) =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, times]) => `${times} ${name}`)
    .join(', ') || 'none';

/** The outcome of a run, for people. */
export function reportOf({ findings, figures }) {
  const { granted, certainHolds, failed, outcomes, processes, lost, doomedHolds, writes } = figures;
  const { latest, overtaken, handOver, faults, unheard, calls } = figures;
  const lines = [
    `processes   ${processes}`,
    `calls       ${calls}: ${granted} granted; not granted: ${count(failed)}`,
    `holds       ${certainHolds} seen for certain; ${lost} lost, ${doomedHolds} broken from outside`,
    `releases    ${count(outcomes)}`,
    `writes      ${writes.accepted} taken, ${writes.refused} refused for their token`,
    `hand-over   ${handOver.median.toFixed(2)} ms (median) from the end of a hold to the next, longest ${handOver.longest.toFixed(0)} ms`,
    `overtaken   at most ${overtaken.anyOrder} times by one process; where all want strict order ${overtaken.strictOrder} times (${overtaken.judged} cases)`,
    `late        at most ${Math.max(0, latest).toFixed(0)} ms after waitTime or abort`,
    `faults      ${count(faults)}`,
    `unheard     ${unheard} events that servers pushed`,
  ];
  for (const { kind, at, story } of findings.list) lines.push(`FOUND ${kind} at ${at.toFixed(1)}: ${story}`);
  if (findings.list.length > 0) lines.push(`findings    ${count(findings.counts)}`);
  return lines.join('\n');
}
