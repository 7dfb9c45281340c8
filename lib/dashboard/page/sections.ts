import { html } from 'htm/preact';
import type { Overview, ShownLoss } from '../wire.js';
import { clock, count, duration, place } from './format.js';
import type { View } from './view.js';

type Process = Overview['processes'][number];

/** The state of everything in a few numbers. */
export function Tiles({ processes }: Overview): View {
  const sum = (of: (process: Process) => number): number =>
    processes.reduce((total, process) => total + of(process), 0);
  const most = (of: (process: Process) => number): number => Math.max(0, ...processes.map(of));
  const losses = sum(({ health }) => health.recentLosses);
  const tiles: readonly (readonly [string, string, boolean])[] = [
    ['held', sum(({ health }) => health.holds).toLocaleString(), false],
    ['longest hold', duration(most(({ health }) => health.longestHold)), false],
    ['waiting', sum(({ health }) => health.waiters).toLocaleString(), false],
    ['longest wait', duration(most(({ health }) => health.longestWait)), false],
    ['lost, 5 min', losses.toLocaleString(), losses > 0],
    ['processes', processes.length.toLocaleString(), false],
  ];
  return html`<dl class="tiles">
    ${tiles.map(
      ([title, value, isBad]) =>
        html`<div class=${isBad ? 'bad' : ''}>
          <dt>${title}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Of all processes, the newest first. */
export function Losses({ processes }: Overview): View {
  const losses = processes
    .flatMap(({ host, pid, lost }) => lost.map((loss) => ({ loss, holder: place({ host, pid }) })))
    .sort((one, other) => other.loss.at - one.loss.at)
    .slice(0, 100);
  if (losses.length === 0) return html`<p class="muted">None in the last five minutes.</p>`;
  return html`<ul class="losses">
    ${losses.map(
      ({ loss, holder }) =>
        html`<li>
          <b>${loss.key}</b> by ${holder} at ${clock(loss.at)}: ${reasonOf(loss)}, after${' '}
          ${duration(loss.heldFor)}, token ${loss.token}${loss.label === null ? '' : `, ${loss.label}`}
        </li>`,
    )}
  </ul>`;
}

const REASONS: Readonly<Record<string, string>> = {
  expired: 'its lease ended in the store',
  taken: 'somebody else got it, or it was broken',
  unreachable: 'it could not be renewed in time',
};

export function reasonOf({ reason }: Pick<ShownLoss, 'reason'>): string {
  return REASONS[reason] ?? reason;
}

export function Processes({ processes }: Overview): View {
  const titles = ['process', 'health', 'held', 'waiting', 'longest hold', 'longest wait', 'lost', 'heard'];
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of processes">
    <table>
      <thead>
        <tr>
          ${titles.map((title) => html`<th scope="col">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${processes.map((process) => {
          const { host, pid, instance, health, age, client } = process;
          const troubles = troublesOf(process);
          return html`<tr key=${client}>
            <th scope="row" title=${client}>${host} / ${pid}${instance === null ? '' : ` (${instance})`}</th>
            <td class=${troubles.length > 0 ? 'bad' : 'good'}>
              ${troubles.length > 0 ? troubles.join('; ') : 'well'}
              <span class="muted">
                · ${health.store}${health.storeVersion === null ? '' : `, ${health.storeVersion}`}</span
              >
            </td>
            <td>${health.holds}</td>
            <td>${health.waiters}</td>
            <td>${duration(health.longestHold)}</td>
            <td>${duration(health.longestWait)}</td>
            <td>${health.recentLosses}</td>
            <td>${age < 2_500 ? 'now' : `${duration(age)} ago`}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

function troublesOf({ health, age }: Process): readonly string[] {
  const troubles: string[] = [];
  if (age > 10_000) troubles.push('has not been heard lately');
  if (health.closing) troubles.push('shuts down');
  if (health.degraded) troubles.push('takes locks in itself only');
  else if (health.reachable === false)
    troubles.push(`store out of reach${health.error === null ? '' : `: ${health.error}`}`);
  if (health.renewalsFailing > 0) troubles.push(`${count(health.renewalsFailing, 'lease')} not renewed`);
  if (health.recentLosses > 0) troubles.push(`${count(health.recentLosses, 'hold')} lost`);
  const { connections, openConnections } = health;
  if (connections !== null && openConnections !== null && openConnections < connections)
    troubles.push(`${count(connections - openConnections, 'connection')} down`);
  return troubles;
}
