import { html } from 'htm/preact';
import type { Overview, SeriesPoint, ShownLoss } from '../wire.js';
import { longest, type HeldRow, type WaitRow } from './data.js';
import { clock, count, duration, hostAndPid, leaseLeft, sharing } from './format.js';
import type { Column, View } from './virtual-table.js';

type Process = Overview['processes'][number];

export function Tiles({ processes }: Overview): View {
  const sum = (of: (process: Process) => number): number =>
    processes.reduce((total, process) => total + of(process), 0);
  const losses = sum(({ status }) => status.recentLosses);
  const tiles: readonly (readonly [title: string, value: string, isBad?: boolean])[] = [
    ['held', sum(({ status }) => status.holds).toLocaleString()],
    ['longest hold', duration(longest({ processes }, 'longestHold'))],
    ['waiting', sum(({ status }) => status.waiters).toLocaleString()],
    ['longest wait', duration(longest({ processes }, 'longestWait'))],
    ['lost, 5 min', losses.toLocaleString(), losses > 0],
    ['processes', processes.length.toLocaleString()],
  ];
  return html`<dl class="tiles">
    ${tiles.map(
      ([title, value, isBad = false]) =>
        html`<div class=${isBad ? 'bad' : ''}>
          <dt>${title}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Size of the plot, px. */
const WIDTH = 600;
const HEIGHT = 90;
const MARGIN = 4;
/** Time span of the plot, ms. */
const SPAN = 5 * 60_000;

/** Holds and waits of the last five minutes, recorded while there were visitors. */
export function Plot({ series }: { readonly series: readonly SeriesPoint[] }): View {
  const last = series.at(-1);
  if (last === undefined) return html`<div class="plot"></div>`;
  const [now, holds, waiting] = last;
  const most = Math.max(1, ...series.map(([, held, waits]) => Math.max(held, waits)));
  const line = (of: 1 | 2): string =>
    series
      .filter(([at]) => now - at <= SPAN)
      .map((point) => {
        const x = WIDTH - MARGIN - ((now - point[0]) / SPAN) * (WIDTH - 2 * MARGIN);
        const y = HEIGHT - MARGIN - (point[of] / most) * (HEIGHT - 2 * MARGIN);
        return `${x.toFixed(1)},${y.toFixed(1)}`;
      })
      .join(' ');
  const text = `The last five minutes: ${count(holds, 'lock')} held now, ${count(waiting, 'call')} waiting, at most ${most.toLocaleString()} of either.`;
  return html`<figure class="plot">
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${text}>
      <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT - MARGIN} y2=${HEIGHT - MARGIN} />
      <polyline class="holds" points=${line(1)} />
      <polyline class="waits" points=${line(2)} />
    </svg>
    <figcaption>
      <span class="holds">held</span> <span class="waits">waiting</span>
      <span class="muted">last 5 min, top ${most.toLocaleString()}</span>
    </figcaption>
  </figure>`;
}

const lockColumn: Column<{ readonly key: string }> = { id: 'lock', title: 'lock', by: ({ key }) => key };

export const heldColumns: readonly Column<HeldRow>[] = [
  lockColumn,
  { id: 'mode', title: 'mode', cell: sharing, by: ({ mode }) => mode },
  { id: 'holder', title: 'host / pid', by: ({ holder }) => holder },
  { id: 'label', title: 'label', by: ({ label, operation }) => label || operation },
  numberColumn('token', 'token', String),
  numberColumn('heldFor', 'held for', duration, 'since'),
  {
    id: 'left',
    title: 'lease left',
    cell: ({ left, leftIsBound, trouble }) =>
      html`<span class=${trouble === '' ? '' : 'bad'} title=${trouble}
        >${leaseLeft(left, leftIsBound)}${trouble === '' ? '' : ` (${trouble})`}</span
      >`,
    by: ({ left }) => left ?? Infinity,
    isNumber: true,
  },
  numberColumn('waiting', 'waiting', (waiting) => (waiting === 0 ? '' : String(waiting))),
];

export const waitColumns: readonly Column<WaitRow>[] = [
  lockColumn,
  numberColumn('callers', 'calls', String),
  numberColumn('longest', 'longest wait', duration),
  numberColumn('total', 'all waits', duration),
  numberColumn('processes', 'processes', String),
];

/** Unknown numbers show as empty cells. */
function numberColumn<Name extends string>(
  name: Name,
  title: string,
  text: (value: number) => string,
  id: string = name,
): Column<Readonly<Record<Name, number | null>>> {
  return {
    id,
    title,
    cell: ({ [name]: value }) => (value === null ? '' : text(value)),
    by: (row) => row[name] ?? 0,
    isNumber: true,
  };
}

/** The losses of all processes, newest first. */
export function Losses({ processes }: Overview): View {
  const losses = processes
    .flatMap((process) => process.lost.map((loss) => ({ loss, holder: hostAndPid(process) })))
    .sort((one, other) => other.loss.at - one.loss.at)
    .slice(0, 100);
  if (losses.length === 0) return html`<p class="muted">None in the last five minutes.</p>`;
  return html`<ul class="losses">
    ${losses.map(
      ({ loss, holder }) =>
        html`<li>
          <b>${loss.key}</b> by ${holder} at ${clock(loss.at)}: ${reasonText(loss)}, after${' '}
          ${duration(loss.heldFor)}, token ${loss.token}${loss.label === null ? '' : `, ${loss.label}`}
        </li>`,
    )}
  </ul>`;
}

const REASONS: Readonly<Record<string, string>> = {
  expired: 'its lease ended in the store',
  taken: 'another process acquired it, or it was broken',
  unreachable: 'it could not be renewed in time',
};

export function reasonText({ reason }: Pick<ShownLoss, 'reason'>): string {
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
          const { host, pid, instance, status, age, client } = process;
          const { name, description } = status.store;
          const troubles = troublesOf(process);
          return html`<tr key=${client}>
            <th scope="row" title=${client}>${host} / ${pid}${instance === null ? '' : ` (${instance})`}</th>
            <td class=${troubles.length > 0 ? 'bad' : 'good'}>
              ${troubles.length > 0 ? troubles.join('; ') : 'well'}
              <span class="muted"> · ${name}${description === null ? '' : `, ${description}`}</span>
            </td>
            <td>${status.holds}</td>
            <td>${status.waiters}</td>
            <td>${duration(status.longestHold)}</td>
            <td>${duration(status.longestWait)}</td>
            <td>${status.recentLosses}</td>
            <td>${age < 2_500 ? 'now' : `${duration(age)} ago`}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

function troublesOf({ status, age }: Process): readonly string[] {
  const troubles: string[] = [];
  const { reachable, error, connections } = status.store;
  if (age > 10_000) troubles.push('no recent snapshot');
  if (status.closing) troubles.push('shuts down');
  if (status.local) troubles.push('acquires locks locally only');
  else if (reachable === false)
    troubles.push(`store unreachable${error === null ? '' : `: ${error.message}`}`);
  if (status.renewalsFailing > 0) troubles.push(`${count(status.renewalsFailing, 'lease')} not renewed`);
  if (status.recentLosses > 0) troubles.push(`${count(status.recentLosses, 'hold')} lost`);
  const closed = connections?.filter(({ isOpen }) => !isOpen).length ?? 0;
  if (closed > 0) troubles.push(`${count(closed, 'connection')} down`);
  return troubles;
}
