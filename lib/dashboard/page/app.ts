import { html } from 'htm/preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LockAddress, Overview, ShownLock } from '../wire.js';
import { readList } from './api.js';
import { Detail } from './detail.js';
import { clock, count, duration, sharing } from './format.js';
import { Plot } from './plot.js';
import { useOverview } from './poll.js';
import { addressId, filtered, heldRows, waitRows, type HeldRow, type WaitRow } from './rows.js';
import { Losses, Processes, Tiles } from './sections.js';
import type { View } from './view.js';
import { VirtualTable, type Column } from './virtual-table.js';

const held: readonly Column<HeldRow>[] = [
  { id: 'lock', title: 'lock', cell: ({ key }) => key, by: ({ key }) => key },
  { id: 'mode', title: 'mode', cell: ({ mode, limit }) => sharing(mode, limit), by: ({ mode }) => mode },
  { id: 'holder', title: 'host / pid', cell: ({ holder }) => holder, by: ({ holder }) => holder },
  {
    id: 'label',
    title: 'label',
    cell: ({ label, name }) => label || name,
    by: ({ label, name }) => label || name,
  },
  { id: 'token', title: 'token', cell: ({ token }) => (token === null ? '' : String(token)) },
  {
    id: 'since',
    title: 'held for',
    cell: ({ heldFor }) => (heldFor === null ? '' : duration(heldFor)),
    by: ({ heldFor }) => heldFor ?? 0,
    isNumber: true,
  },
  {
    id: 'left',
    title: 'lease left',
    cell: ({ left, trouble }) =>
      html`<span class=${trouble === '' ? '' : 'bad'} title=${trouble}
        >${left === null ? 'no end' : duration(left)}${trouble === '' ? '' : ` (${trouble})`}</span
      >`,
    by: ({ left }) => left ?? Infinity,
    isNumber: true,
  },
  {
    id: 'waiting',
    title: 'waiting',
    cell: ({ waiting }) => (waiting === 0 ? '' : String(waiting)),
    by: ({ waiting }) => waiting,
    isNumber: true,
  },
];

const waits: readonly Column<WaitRow>[] = [
  { id: 'lock', title: 'lock', cell: ({ key }) => key, by: ({ key }) => key },
  {
    id: 'callers',
    title: 'calls',
    cell: ({ callers }) => String(callers),
    by: ({ callers }) => callers,
    isNumber: true,
  },
  {
    id: 'longest',
    title: 'longest wait',
    cell: ({ longest }) => duration(longest),
    by: ({ longest }) => longest,
    isNumber: true,
  },
  {
    id: 'total',
    title: 'all waits',
    cell: ({ total }) => duration(total),
    by: ({ total }) => total,
    isNumber: true,
  },
  {
    id: 'processes',
    title: 'processes',
    cell: ({ processes }) => String(processes),
    by: ({ processes }) => processes,
    isNumber: true,
  },
];

/** The whole page. */
export function App(): View {
  const [isPaused, setPaused] = useState(false);
  const { overview, trouble } = useOverview(isPaused);
  const [filter, setFilter] = useState('');
  const [listed, setListed] = useState<ReadonlyMap<string, ShownLock>>(new Map());
  const [selected, setSelected] = useSelected();
  const [said, setSaid] = useState('');
  const waiting = useMemo(() => (overview ? waitRows(overview) : []), [overview]);
  const rows = useMemo(
    () => (overview ? heldRows(overview, waiting, listed) : []),
    [overview, waiting, listed],
  );
  const shown = useMemo(() => filtered(rows, filter), [rows, filter]);
  const shownWaits = useMemo(() => filtered(waiting, filter), [waiting, filter]);

  const open = ({ key, instance }: LockAddress): void => {
    setSelected({ key, instance });
  };

  return html`<header class="top">
      <h1>Locks</h1>
      <p class="muted">${overview ? `as of ${clock(overview.now)}` : ''}</p>
      <button
        type="button"
        aria-pressed=${isPaused}
        onClick=${() => {
          setPaused(!isPaused);
        }}
      >
        Pause
      </button>
    </header>
    <p class="said" role="status">${said}</p>
    <main>
      ${trouble === '' ? '' : html`<p class="note bad" role="alert">${trouble}</p>`}
      ${overview?.notes.map((note) => html`<p class="note">${note}</p>`)}
      ${
        overview === undefined
          ? html`<p class="muted">Asking …</p>`
          : html`<${Tiles} ...${overview} />
              <${Plot} series=${overview.series} />
              <section aria-labelledby="held-title">
                <h2 id="held-title">Held locks</h2>
                <div class="tools">
                  <label>
                    Filter
                    <input
                      type="search"
                      value=${filter}
                      placeholder="key, host, pid, label"
                      onInput=${(event: Event) => {
                        setFilter((event.currentTarget as HTMLInputElement).value);
                      }}
                    />
                  </label>
                  <${AskStore} overview=${overview} found=${setListed} say=${setSaid} />
                  <span class="muted">${count(shown.length, 'hold')}</span>
                </div>
                ${
                  shown.length === 0
                    ? html`<p class="muted">None.</p>`
                    : html`<${VirtualTable}
                        label="Held locks"
                        rows=${shown}
                        columns=${held}
                        sortedBy="since"
                        open=${open}
                      />`
                }
              </section>
              <section aria-labelledby="waits-title">
                <h2 id="waits-title">Longest waits</h2>
                ${
                  shownWaits.length === 0
                    ? html`<p class="muted">Nobody waits.</p>`
                    : html`<${VirtualTable}
                        label="Longest waits"
                        rows=${shownWaits}
                        columns=${waits}
                        sortedBy="longest"
                        open=${open}
                      />`
                }
              </section>
              <section aria-labelledby="losses-title">
                <h2 id="losses-title">Losses</h2>
                <${Losses} ...${overview} />
              </section>
              <section aria-labelledby="processes-title">
                <h2 id="processes-title">Processes</h2>
                <${Processes} ...${overview} />
              </section>`
      }
    </main>
    ${
      overview !== undefined && selected !== undefined
        ? html`<${Detail}
            key=${addressId(selected)}
            address=${selected}
            overview=${overview}
            say=${setSaid}
            close=${() => {
              setSelected(undefined);
            }}
          />`
        : ''
    }`;
}

/** Asks the store for all held locks, bit by bit: it looks at everything that it has, so that this is done on demand only. */
function AskStore({
  overview,
  found,
  say,
}: {
  readonly overview: Overview;
  readonly found: (locks: ReadonlyMap<string, ShownLock>) => void;
  readonly say: (text: string) => void;
}): View {
  const [isAsking, setAsking] = useState(false);
  const instances = [...new Set(overview.processes.map(({ instance }) => instance))];

  const askAll = async (): Promise<void> => {
    const locks = new Map<string, ShownLock>();
    setAsking(true);
    try {
      for (const instance of instances) {
        let cursor: string | null = null;
        do {
          const part = await readList(instance, '', cursor);
          for (const lock of part.locks) locks.set(addressId(lock), lock);
          cursor = part.cursor;
          say(`${count(locks.size, 'lock')} so far …`);
        } while (cursor !== null);
      }
      say(`The store has ${count(locks.size, 'held lock')}.`);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
    found(locks);
    setAsking(false);
  };

  return html`<button type="button" disabled=${isAsking} onClick=${() => void askAll()}>
    ${isAsking ? 'Asking the store …' : 'Ask the store for all'}
  </button>`;
}

/** The lock that is looked at, also in the address of the page, so that it can be passed on. */
function useSelected(): readonly [LockAddress | undefined, (address: LockAddress | undefined) => void] {
  const [selected, setSelected] = useState(readHash);
  useEffect(() => {
    const changed = (): void => {
      setSelected(readHash());
    };
    addEventListener('hashchange', changed);
    return () => {
      removeEventListener('hashchange', changed);
    };
  }, []);
  const select = (address: LockAddress | undefined): void => {
    const { key, instance } = address ?? { key: undefined, instance: null };
    const hash = new URLSearchParams(
      key === undefined ? {} : { lock: key, ...(instance !== null && { instance }) },
    );
    history.replaceState(
      null,
      '',
      `${location.pathname}${location.search}${key === undefined ? '' : `#${hash.toString()}`}`,
    );
    setSelected(address);
  };
  return [selected, select];
}

function readHash(): LockAddress | undefined {
  const hash = new URLSearchParams(location.hash.slice(1));
  const key = hash.get('lock');
  return key === null || key === '' ? undefined : { key, instance: hash.get('instance') };
}
