import { html } from 'htm/preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { LockAddress } from '../wire.js';
import { AskStore } from './ask-store.js';
import { heldColumns, waitColumns } from './columns.js';
import { Detail } from './detail.js';
import { clock, count } from './format.js';
import { addressId, holdId } from './held-row.js';
import type { ListedLock } from './listed-rows.js';
import { Plot } from './plot.js';
import { useOverview } from './poll.js';
import { filtered, heldRows, waitRows } from './rows.js';
import { Losses, Processes, Tiles } from './sections.js';
import type { View } from './view.js';
import { VirtualTable } from './virtual-table.js';

/** The whole page. */
export function App(): View {
  const [isPaused, setPaused] = useState(false);
  const { overview, trouble } = useOverview(isPaused);
  const [filter, setFilter] = useState('');
  const [listed, setListed] = useState<ReadonlyMap<string, ListedLock>>(new Map());
  const [broken, setBroken] = useState<ReadonlyMap<string, number>>(new Map());
  const [selected, setSelected] = useSelected();
  const [said, setSaid] = useState('');
  const waiting = useMemo(() => (overview ? waitRows(overview) : []), [overview]);
  const rows = useMemo(
    () => (overview ? heldRows(overview, waiting, listed, broken) : []),
    [overview, waiting, listed, broken],
  );
  const shown = useMemo(() => filtered(rows, filter), [rows, filter]);
  const shownWaits = useMemo(() => filtered(waiting, filter), [waiting, filter]);

  const open = ({ key, instance }: LockAddress): void => {
    setSelected({ key, instance });
  };
  const broke = (address: LockAddress, tokens: readonly (number | null)[]): void => {
    const at = overview?.now ?? 0;
    setBroken(
      (before) => new Map([...before, ...tokens.map((token) => [holdId(address, token), at] as const)]),
    );
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
                      placeholder="key, host, pid, label, token"
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
                        columns=${heldColumns}
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
                        columns=${waitColumns}
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
            broke=${broke}
            say=${setSaid}
            close=${() => {
              setSelected(undefined);
            }}
          />`
        : ''
    }`;
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
