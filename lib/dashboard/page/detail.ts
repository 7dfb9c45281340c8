import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LockAddress, Overview, ShownEvent, ShownHolder, ShownLock } from '../wire.js';
import { breakLock, readLock, Refusal } from './api.js';
import { clock, count, duration, leaseLeft, place, sharing } from './format.js';
import { withNews, type History } from './history.js';
import { reasonOf } from './sections.js';
import type { View } from './view.js';

interface Props {
  readonly address: LockAddress;
  readonly overview: Overview;
  readonly close: () => void;
  /** Tells which hold was broken here, by each token that it is known by. */
  readonly broke: (address: LockAddress, tokens: readonly (number | null)[]) => void;
  /** Says what came of something, where everybody hears it. */
  readonly say: (text: string) => void;
}

interface Found {
  readonly lock: ShownLock | null;
  readonly at: number;
}

/** One lock: who holds it, who waits for it in which order, what has happened to it lately. */
export function Detail({ address, overview, close, broke, say }: Props): View {
  const dialog = useRef<HTMLDialogElement>(null);
  const [found, setFound] = useState<Found | undefined>();
  const [trouble, setTrouble] = useState('');
  const history = useHistory(address, overview);
  const { key, instance } = address;

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  // With each new overview: the two belong together.
  useEffect(() => {
    let isOver = false;
    readLock({ key, instance }).then(
      (lock) => {
        if (isOver) return;
        setFound({ lock, at: Date.now() });
        setTrouble('');
      },
      (error: unknown) => {
        if (!isOver) setTrouble(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      isOver = true;
    };
  }, [key, instance, overview]);

  const lock = found?.lock;
  return html`<dialog ref=${dialog} aria-labelledby="detail-title" onClose=${close}>
    <header>
      <h2 id="detail-title">${key}</h2>
      <button type="button" class="close" aria-label="Close" onClick=${() => dialog.current?.close()}>
        ✕
      </button>
    </header>
    ${trouble === '' ? '' : html`<p class="bad" role="alert">${trouble}</p>`}
    ${lock === undefined ? html`<p class="muted">Asking the store …</p>` : ''}
    ${lock === null ? html`<p>Nobody holds this lock now.</p>` : ''}
    ${lock ? html`<${LockFacts} lock=${lock} overview=${overview} broke=${broke} say=${say} />` : ''}
    <h3>Lately</h3>
    ${
      history.length === 0
        ? html`<p class="muted">Nothing since somebody looks at this page.</p>`
        : html`<ol class="history">
            ${history.map((event) => html`<li>${clock(event.at)} <b>${event.type}</b> ${storyOf(event)}</li>`)}
          </ol>`
    }
  </dialog>`;
}

function LockFacts({
  lock,
  overview,
  broke,
  say,
}: {
  readonly lock: ShownLock;
  readonly overview: Overview;
  readonly broke: Props['broke'];
  readonly say: (text: string) => void;
}): View {
  const { mode, limit, holders, waiters, waiting, instance } = lock;
  return html`<p>
      ${sharing(mode, limit)}${instance === null ? '' : `, of the module instance ${instance}`}, as the store
      knows it
    </p>
    <h3>${holders.length === 1 ? 'Holder' : count(holders.length, 'holder')}</h3>
    <ul class="holders">
      ${holders.map((holder) => {
        const token = currentToken(holder, lock, overview);
        return html`<li key=${lock.limit === 1 ? '' : placeOf(holder)}>
          <dl>
            <div>
              <dt>host / pid</dt>
              <dd>${place(holder.process)}</dd>
            </div>
            <div>
              <dt>since</dt>
              <dd>${holder.since === null ? 'not known' : clock(holder.since)}</dd>
            </div>
            <div>
              <dt>lease left</dt>
              <dd>${leaseLeft(holder.remaining, holder.remainingIsBound)}</dd>
            </div>
            <div>
              <dt>token</dt>
              <dd>${token ?? 'none'}</dd>
            </div>
            ${
              holder.label === null
                ? ''
                : html`<div>
                    <dt>label</dt>
                    <dd>${holder.label}</dd>
                  </div>`
            }
          </dl>
          ${
            overview.allowBreak
              ? html`<${Break}
                  lock=${lock}
                  holder=${holder}
                  overview=${overview}
                  broke=${broke}
                  say=${say}
                />`
              : ''
          }
        </li>`;
      })}
    </ul>
    <h3>Queue: ${count(waiting, 'call')}</h3>
    ${
      waiters.length === 0
        ? html`<p class="muted">Nobody waits in line.</p>`
        : html`<ol class="queue">
            ${waiters.slice(0, 200).map(
              (waiter) =>
                html`<li>
                  ${`${place(waiter.process)}: ${count(waiter.callers, 'call')}`}${waiter.label === null ? '' : `, ${waiter.label}`}
                  <span class="muted"> ${sharing(waiter.mode, waiter.limit)}</span>
                </li>`,
            )}
          </ol>`
    }`;
}

/** Breaking takes two steps, the second of which says what it means. Of those who share a lock it ends one. */
function Break({
  lock,
  holder,
  overview,
  broke,
  say,
}: {
  readonly lock: ShownLock;
  readonly holder: ShownHolder;
  readonly overview: Overview;
  readonly broke: Props['broke'];
  readonly say: (text: string) => void;
}): View {
  const [asked, setAsked] = useState<
    { readonly token: number | null; readonly first: number | null; readonly holder: string } | undefined
  >();
  const [trouble, setTrouble] = useState('');
  const confirm = useRef<HTMLButtonElement>(null);
  const { key, instance, holders } = lock;
  const isOneOfSome = holders.length > 1;

  useEffect(() => {
    if (asked !== undefined) confirm.current?.focus();
  }, [asked]);

  const breakIt = async (): Promise<void> => {
    if (asked === undefined) return;
    try {
      await breakLock({ key, instance, token: asked.token });
      setTrouble('');
      broke({ key, instance }, [asked.token, asked.first]);
      say(isOneOfSome ? `A hold of ${key} was broken.` : `The lock ${key} was broken.`);
    } catch (error) {
      const text = error instanceof Refusal || error instanceof Error ? error.message : String(error);
      setTrouble(text);
      say(text);
    }
    setAsked(undefined);
  };

  return html`<div class="break">
    ${trouble === '' ? '' : html`<p class="bad">${trouble}</p>`}
    ${
      asked === undefined
        ? html`<button
            type="button"
            class="danger"
            onClick=${() => {
              setAsked({
                token: currentToken(holder, lock, overview),
                first: holder.token,
                holder: place(holder.process),
              });
            }}
          >
            ${isOneOfSome ? 'Break this hold …' : 'Break this lock …'}
          </button>`
        : html`<p>
              The next in line gets ${isOneOfSome ? 'its place' : 'the lock'} at once. The work of
              ${' '}${asked.holder} goes on: it is told that it has lost the lock, but only a fencing token
              that is checked where it writes keeps it from writing.
            </p>
            <button type="button" class="danger" ref=${confirm} onClick=${() => void breakIt()}>
              Break the hold with token ${asked.token ?? 'none'}
            </button>
            <button
              type="button"
              onClick=${() => {
                setAsked(undefined);
              }}
            >
              Leave it
            </button>`
    }
  </div>`;
}

/** What tells one of those who share a lock from the others. */
function placeOf({ token, process }: ShownHolder): string {
  return `${place(process)} ${String(token)}`;
}

/** The store knows the first token of a process that hands its lock on to its own callers; the process knows the last. */
function currentToken(
  { token, client }: ShownHolder,
  lock: ShownLock,
  { processes }: Overview,
): number | null {
  if (token === null || client === null || lock.limit !== 1) return token;
  const own = processes
    .filter((process) => process.client === client)
    .flatMap(({ held }) => held)
    .filter(({ key }) => key === lock.key)
    .map((hold) => hold.token);
  return Math.max(token, ...own);
}

/** What happened to the lock since it is looked at and a little before, the newest first. */
function useHistory(address: LockAddress, overview: Overview): readonly ShownEvent[] {
  const seen = useRef<History>(new Map());
  seen.current = withNews(seen.current, address, overview);
  return [...seen.current.values()];
}

function storyOf({ type, token, lasted, label, detail }: ShownEvent): string {
  const parts = [
    lasted === null
      ? ''
      : `${type === 'released' || type === 'lost' ? 'after' : 'after waiting'} ${duration(lasted)}`,
    token === null ? '' : `token ${String(token)}`,
    detail === null
      ? ''
      : type === 'lost'
        ? reasonOf({ reason: detail })
        : type === 'broken'
          ? `by ${detail}`
          : detail,
    label ?? '',
  ];
  return parts.filter(Boolean).join(', ');
}
