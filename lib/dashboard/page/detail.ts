import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LockAddress, Overview, ShownEvent, ShownHolder, ShownLock } from '../wire.js';
import { breakLock, readLock } from './api.js';
import { currentToken, messageOf, withNews, type History } from './data.js';
import { clock, count, duration, hostAndPid, leaseLeft, sharing } from './format.js';
import { reasonText } from './sections.js';
import type { View } from './virtual-table.js';

const MOST_WAITERS = 200;

interface Shared {
  readonly overview: Overview;
  /** Called with all tokens by which the broken hold is known. */
  readonly onBroken: (address: LockAddress, tokens: readonly (number | null)[]) => void;
  /** Shows a result where screen readers announce it. */
  readonly announce: (text: string) => void;
}

interface Props extends Shared {
  readonly address: LockAddress;
  readonly close: () => void;
}

/** One lock: its holders, its queue and its recent events. */
export function Detail({ address, close, ...shared }: Props): View {
  const { overview } = shared;
  const dialog = useRef<HTMLDialogElement>(null);
  /** Undefined before the first reply; null for a free lock. */
  const [lock, setLock] = useState<ShownLock | null | undefined>();
  const [trouble, setTrouble] = useState('');
  const history = useRef<History>(new Map());
  history.current = withNews(history.current, address, overview);
  const events = [...history.current.values()];
  const { key, instance } = address;

  useEffect(() => dialog.current?.showModal(), []);
  // Reads the lock with each new overview, since the current token depends on both.
  useEffect(() => {
    let isOver = false;
    readLock({ key, instance }).then(
      (read) => {
        if (isOver) return;
        setLock(read);
        setTrouble('');
      },
      (error: unknown) => {
        if (!isOver) setTrouble(messageOf(error));
      },
    );
    return () => {
      isOver = true;
    };
  }, [key, instance, overview]);

  return html`<dialog ref=${dialog} aria-labelledby="detail-title" onClose=${close}>
    <header>
      <h2 id="detail-title">${key}</h2>
      <button type="button" class="close" aria-label="Close" onClick=${() => dialog.current?.close()}>
        ✕
      </button>
    </header>
    ${trouble === '' ? '' : html`<p class="bad" role="alert">${trouble}</p>`}
    ${lock === undefined ? html`<p class="muted">Reading the store …</p>` : ''}
    ${lock === null ? html`<p>This lock is free now.</p>` : ''}
    ${lock ? html`<${LockFacts} lock=${lock} ...${shared} />` : ''}
    <h3>Lately</h3>
    ${
      events.length === 0
        ? html`<p class="muted">No events since the page was opened.</p>`
        : html`<ol class="history">
            ${events.map((event) => html`<li>${clock(event.at)} <b>${event.type}</b> ${storyOf(event)}</li>`)}
          </ol>`
    }
  </dialog>`;
}

function LockFacts({ lock, ...shared }: Shared & { readonly lock: ShownLock }): View {
  const { mode, limit, permits, holders, waiters, waiting, instance } = lock;
  const free = permits === null ? '' : `, ${count(permits.free, 'permit')} free`;
  const { overview } = shared;
  return html`<p>
      ${sharing({ mode, limit })}${free}${instance === null ? '' : `, of the module instance ${instance}`}, as
      the store knows it
    </p>
    <h3>${holders.length === 1 ? 'Holder' : count(holders.length, 'holder')}</h3>
    <ul class="holders">
      ${holders.map((holder) => {
        const { process, acquiredAt, remaining, remainingIsBound, permits: taken, label } = holder;
        const facts = [
          ['host / pid', hostAndPid(process)],
          ['since', acquiredAt === null ? 'not known' : clock(acquiredAt)],
          ['lease left', leaseLeft(remaining, remainingIsBound)],
          ...(taken === 1 ? [] : [['permits', String(taken)]]),
          ['token', currentToken(holder, lock, overview) ?? 'none'],
          ...(label === null ? [] : [['label', label]]),
        ];
        // An exclusive lock has one entry, which stays while the lock passes from holder to holder.
        return html`<li key=${limit === 1 ? '' : `${hostAndPid(process)} ${String(holder.token)}`}>
          <dl>
            ${facts.map(
              ([title, text]) =>
                html`<div>
                  <dt>${title}</dt>
                  <dd>${text}</dd>
                </div>`,
            )}
          </dl>
          ${overview.allowBreak ? html`<${Break} lock=${lock} holder=${holder} ...${shared} />` : ''}
        </li>`;
      })}
    </ul>
    <h3>Queue: ${count(waiting, 'call')}</h3>
    ${
      waiters.length === 0
        ? html`<p class="muted">No waiters.</p>`
        : html`<ol class="queue">
            ${waiters.slice(0, MOST_WAITERS).map(
              (waiter) =>
                html`<li>
                  ${`${hostAndPid(waiter.process)}: ${count(waiter.callers, 'call')}`}${waiter.label === null ? '' : `, ${waiter.label}`}
                  <span class="muted"> ${sharing(waiter)}</span>
                </li>`,
            )}
          </ol>`
    }`;
}

/** Breaks one hold in two steps; the second one explains the consequences. */
function Break({
  lock,
  holder,
  overview,
  onBroken,
  announce,
}: Shared & { readonly lock: ShownLock; readonly holder: ShownHolder }): View {
  // Fixed by the first step, so that the second one breaks the hold that was shown then.
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
      onBroken({ key, instance }, [asked.token, asked.first]);
      announce(isOneOfSome ? `A hold of ${key} was broken.` : `The lock ${key} was broken.`);
    } catch (error) {
      const text = messageOf(error);
      setTrouble(text);
      announce(text);
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
                holder: hostAndPid(holder.process),
              });
            }}
          >
            ${isOneOfSome ? 'Break this hold …' : 'Break this lock …'}
          </button>`
        : html`<p>
              The next waiter acquires ${isOneOfSome ? 'its permits' : 'the lock'} at once. The work of
              ${' '}${asked.holder} continues: it is notified of the loss, but only fencing tokens that are
              checked by the guarded resource prevent its writes.
            </p>
            <button type="button" class="danger" ref=${confirm} onClick=${() => void breakIt()}>
              Break the hold with token ${asked.token ?? 'none'}
            </button>
            <button type="button" onClick=${() => setAsked(undefined)}>Cancel</button>`
    }
  </div>`;
}

function storyOf(event: ShownEvent): string {
  const parts: string[] = [];
  if ('heldFor' in event) parts.push(`after ${duration(event.heldFor)}`);
  if ('waitedFor' in event) parts.push(`after waiting ${duration(event.waitedFor)}`);
  if ('token' in event) parts.push(`token ${String(event.token)}`);
  if (event.type === 'lost') parts.push(reasonText(event));
  if (event.type === 'broken' && event.by !== null) parts.push(`by ${event.by}`);
  if (event.type === 'renewal-failed') parts.push(event.error.message);
  return [...parts, event.label ?? ''].filter(Boolean).join(', ');
}
