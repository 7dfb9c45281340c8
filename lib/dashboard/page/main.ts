import { html, render } from 'htm/preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LockAddress, Overview } from '../wire.js';
import { ErrorResponse, readList, readOverview } from './api.js';
import { addressId, filtered, heldRows, holdId, listAll, waitRows, type ListedLock } from './data.js';
import { Detail } from './detail.js';
import { clock, count } from './format.js';
import { heldColumns, Losses, Plot, Processes, Tiles, waitColumns } from './sections.js';
import { VirtualTable, type TableProps, type View } from './virtual-table.js';

const POLL_INTERVAL = 2_000;

function App(): View {
  const [isPaused, setPaused] = useState(false);
  const { overview, trouble } = useOverview(isPaused);
  const [filter, setFilter] = useState('');
  const [listed, setListed] = useState<ReadonlyMap<string, ListedLock>>(new Map());
  const [broken, setBroken] = useState<ReadonlyMap<string, number>>(new Map());
  const [selected, setSelected] = useSelected();
  const [announcement, announce] = useState('');
  const waiting = useMemo(() => (overview ? waitRows(overview) : []), [overview]);
  const rows = useMemo(
    () => (overview ? heldRows(overview, waiting, listed, broken) : []),
    [overview, waiting, listed, broken],
  );
  const shown = useMemo(() => filtered(rows, filter), [rows, filter]);
  const shownWaits = useMemo(() => filtered(waiting, filter), [waiting, filter]);

  const open = ({ key, instance }: LockAddress): void => setSelected({ key, instance });
  const onBroken = (address: LockAddress, tokens: readonly (number | null)[]): void => {
    const at = overview?.now ?? 0;
    setBroken(
      (before) => new Map([...before, ...tokens.map((token) => [holdId(address, token), at] as const)]),
    );
  };

  return html`<header class="top">
      <h1>Locks</h1>
      <p class="muted">${overview ? `as of ${clock(overview.now)}` : ''}</p>
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>Pause</button>
    </header>
    <p class="said" role="status">${announcement}</p>
    <main>
      ${trouble === '' ? '' : html`<p class="note bad" role="alert">${trouble}</p>`}
      ${overview?.notes.map((note) => html`<p class="note">${note}</p>`)}
      ${
        overview === undefined
          ? html`<p class="muted">Loading …</p>`
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
                      placeholder="key, host, pid, label, token"
                      onInput=${(event: Event) => setFilter((event.currentTarget as HTMLInputElement).value)}
                    />
                  </label>
                  <${ListButton} overview=${overview} onListed=${setListed} announce=${announce} />
                  <span class="muted">${count(shown.length, 'hold')}</span>
                </div>
                <${TableOr}
                  empty="None."
                  label="Held locks"
                  rows=${shown}
                  columns=${heldColumns}
                  sortedBy="since"
                  open=${open}
                />
              </section>
              <section aria-labelledby="waits-title">
                <h2 id="waits-title">Longest waits</h2>
                <${TableOr}
                  empty="No waiting calls."
                  label="Longest waits"
                  rows=${shownWaits}
                  columns=${waitColumns}
                  sortedBy="longest"
                  open=${open}
                />
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
            onBroken=${onBroken}
            announce=${announce}
            close=${() => setSelected(undefined)}
          />`
        : ''
    }`;
}

function TableOr<R extends { readonly id: string; readonly key: string }>({
  empty,
  ...table
}: TableProps<R> & { readonly empty: string }): View {
  return table.rows.length === 0
    ? html`<p class="muted">${empty}</p>`
    : html`<${VirtualTable} ...${table} />`;
}

/** Lists all held locks of the store on demand only, since the store has to scan all its entries. */
function ListButton({
  overview,
  onListed,
  announce,
}: {
  readonly overview: Overview;
  readonly onListed: (locks: ReadonlyMap<string, ListedLock>) => void;
  readonly announce: (text: string) => void;
}): View {
  const [isListing, setListing] = useState(false);

  const list = async (): Promise<void> => {
    setListing(true);
    const instances = [...new Set(overview.processes.map(({ instance }) => instance))];
    const { locks, failures } = await listAll(instances, readList, (size) =>
      announce(`${count(size, 'lock')} so far …`),
    );
    const result =
      failures.length < instances.length ? [`The store has ${count(locks.size, 'held lock')}.`] : [];
    announce([...result, ...failures].join(' '));
    onListed(locks);
    setListing(false);
  };

  return html`<button type="button" disabled=${isListing} onClick=${() => void list()}>
    ${isListing ? 'Reading the store …' : 'List all locks in the store'}
  </button>`;
}

interface Polled {
  readonly overview: Overview | undefined;
  /** Why there is no newer one; empty if there is one. */
  readonly trouble: string;
}

/** The overview, updated every two seconds while the page is visible. */
function useOverview(isPaused: boolean): Polled {
  const [polled, setPolled] = useState<Polled>({ overview: undefined, trouble: '' });
  useEffect(() => {
    if (isPaused) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const poll = async (): Promise<void> => {
      clearTimeout(timer);
      if (!document.hidden) {
        try {
          const overview = await readOverview();
          if (isOver) return;
          setPolled({ overview, trouble: '' });
        } catch (error) {
          if (isOver) return;
          setPolled((before) => ({ ...before, trouble: troubleOf(error, before.overview) }));
        }
      }
      timer = setTimeout(() => void poll(), POLL_INTERVAL);
    };
    const onVisible = (): void => {
      if (!document.hidden) void poll();
    };
    document.addEventListener('visibilitychange', onVisible);
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [isPaused]);
  return polled;
}

function troubleOf(error: unknown, last: Overview | undefined): string {
  const since = last === undefined ? '' : ` Showing the state of ${clock(last.now)}.`;
  if (!(error instanceof ErrorResponse)) return `The application does not reply; retrying.${since}`;
  const { status, message } = error;
  if (status === 401 || status === 403) {
    return `You are not allowed to see this page: ${message}. Sign in and reload it.${since}`;
  }
  return `The application replied ${String(status)}: ${message}.${since}`;
}

/** The selected lock. It is also in the fragment of the page's address, so that the address can be sent to others. */
function useSelected(): readonly [LockAddress | undefined, (address: LockAddress | undefined) => void] {
  const [selected, setSelected] = useState(readHash);
  useEffect(() => {
    const onChange = (): void => setSelected(readHash());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  const select = (address: LockAddress | undefined): void => {
    let hash = '';
    if (address !== undefined) {
      const { key, instance } = address;
      hash = `#${new URLSearchParams({ lock: key, ...(instance !== null && { instance }) }).toString()}`;
    }
    history.replaceState(null, '', `${location.pathname}${location.search}${hash}`);
    setSelected(address);
  };
  return [selected, select];
}

function readHash(): LockAddress | undefined {
  const hash = new URLSearchParams(location.hash.slice(1));
  const key = hash.get('lock');
  return key === null || key === '' ? undefined : { key, instance: hash.get('instance') };
}

const root = document.getElementById('page');
if (root !== null) {
  root.textContent = '';
  render(html`<${App} />`, root);
}
