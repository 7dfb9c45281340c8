const TROUBLE = new Set(['unhandled', 'uncaught', 'warning', 'logged']);

/** Checks that processes end as they should, and log no errors. */
export class Processes {
  #states = new Map();

  constructor(findings, rules) {
    this.findings = findings;
    this.rules = rules;
  }

  see(event) {
    const { e, p, t } = event;
    if (TROUBLE.has(e)) this.findings.add(e, t, `${p}: ${event.m}`);
    if (e === 'start') this.#states.set(p, {});
    const state = this.#states.get(p);
    if (state === undefined) return;
    if (e === 'fault' && event.name === 'process killed') state.killed = true;
    else if (e === 'stuck') this.#stuck(p, t, state);
    else if (e === 'closed') this.#closed(p, event, state);
    else if (e === 'done') state.doneAt = t;
    else if (e === 'exit') this.#exited(p, event, state);
  }

  finish() {
    return this.#states.size;
  }

  #stuck(p, t, state) {
    state.killed = true;
    const what = state.doneAt === undefined ? 'did not finish' : 'was kept alive after it had closed';
    this.findings.add('stuck', t, `${p} ${what}`);
  }

  #closed(p, { t, took, kept }, state) {
    state.closed = true;
    if (took > this.rules.closing) {
      this.findings.add('slow-close', t, `${p}: closing took ${took.toFixed(0)} ms`);
    }
    if (Object.keys(kept ?? {}).length > 0) {
      this.findings.add('kept-after-close', t, `${p}: ${JSON.stringify(kept)}`);
    }
  }

  #exited(p, { t, code, signal, output }, { killed, closed, doneAt }) {
    if (killed) return;
    if (code !== 0 || !closed || output !== undefined) {
      this.findings.add('crash', t, `${p} ended with ${code ?? signal}${output ? `: ${output}` : ''}`);
    } else if (t - doneAt > this.rules.exiting) {
      this.findings.add(
        'slow-exit',
        t,
        `${p} was kept alive for ${(t - doneAt).toFixed(0)} ms after it had closed`,
      );
    }
  }
}
