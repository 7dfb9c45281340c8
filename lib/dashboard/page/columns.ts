import { html } from 'htm/preact';
import { duration, leaseLeft, sharing } from './format.js';
import type { HeldRow } from './held-row.js';
import type { WaitRow } from './rows.js';
import type { Column } from './virtual-table.js';

/** Of the table of held locks. */
export const heldColumns: readonly Column<HeldRow>[] = [
  { id: 'lock', title: 'lock', cell: ({ key }) => key, by: ({ key }) => key },
  { id: 'mode', title: 'mode', cell: ({ mode, limit }) => sharing(mode, limit), by: ({ mode }) => mode },
  { id: 'holder', title: 'host / pid', cell: ({ holder }) => holder, by: ({ holder }) => holder },
  {
    id: 'label',
    title: 'label',
    cell: ({ label, name }) => label || name,
    by: ({ label, name }) => label || name,
  },
  {
    id: 'token',
    title: 'token',
    cell: ({ token }) => (token === null ? '' : String(token)),
    by: ({ token }) => token ?? 0,
    isNumber: true,
  },
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
    cell: ({ left, leftIsBound, trouble }) =>
      html`<span class=${trouble === '' ? '' : 'bad'} title=${trouble}
        >${leaseLeft(left, leftIsBound)}${trouble === '' ? '' : ` (${trouble})`}</span
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

/** Of the table of what is waited for. */
export const waitColumns: readonly Column<WaitRow>[] = [
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
