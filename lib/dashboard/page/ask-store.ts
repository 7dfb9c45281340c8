import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Overview } from '../wire.js';
import { readList } from './api.js';
import { count } from './format.js';
import type { ListedLock } from './listed-rows.js';
import { listAll } from './listing.js';
import type { View } from './view.js';

/** Asks the store for all held locks, bit by bit: it looks at everything that it has, so that this is done on demand only. */
export function AskStore({
  overview,
  found,
  say,
}: {
  readonly overview: Overview;
  readonly found: (locks: ReadonlyMap<string, ListedLock>) => void;
  readonly say: (text: string) => void;
}): View {
  const [isAsking, setAsking] = useState(false);
  const instances = [...new Set(overview.processes.map(({ instance }) => instance))];

  const askAll = async (): Promise<void> => {
    setAsking(true);
    const { locks, failures } = await listAll(
      instances,
      (instance, cursor) => readList(instance, '', cursor),
      (size) => {
        say(`${count(size, 'lock')} so far …`);
      },
    );
    const has =
      failures.length < instances.length ? [`The store has ${count(locks.size, 'held lock')}.`] : [];
    say([...has, ...failures].join(' '));
    found(locks);
    setAsking(false);
  };

  return html`<button type="button" disabled=${isAsking} onClick=${() => void askAll()}>
    ${isAsking ? 'Asking the store …' : 'Ask the store for all'}
  </button>`;
}
