import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/** The result of a component. */
export type View = VNode | VNode[];

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** The sort key. Number columns are initially sorted from the largest. */
  readonly by: (row: R) => number | string;
  /** @default the sort key */
  readonly cell?: (row: R) => View | string;
  readonly isNumber?: boolean;
}

export interface TableProps<R> {
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  /** The column by which rows are sorted initially. */
  readonly sortedBy: string;
  readonly open: (row: R) => void;
}

/** Rows rendered beyond the visible ones, so that fast scrolling shows no gaps. */
const SPARE = 8;

/** A table of any length: the document contains only the visible rows. The first column opens a row. */
export function VirtualTable<R extends { readonly id: string; readonly key: string }>({
  label,
  rows,
  columns,
  sortedBy,
  open,
}: TableProps<R>): View {
  const [sorting, setSorting] = useState({ column: sortedBy, isDown: true });
  const [active, setActive] = useState<string | undefined>();
  const [top, setTop] = useState(0);
  const [{ height, rowHeight }, setSize] = useState({ height: 400, rowHeight: 36 });
  const scroller = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const sorted = useMemo(() => sort(rows, columns, sorting), [rows, columns, sorting]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      // Of a line, or of a card on a narrow screen.
      const rowHeight = parseFloat(getComputedStyle(element).getPropertyValue('--row'));
      setSize({ height: element.clientHeight, rowHeight });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    scroller.current?.querySelector<HTMLElement>('[data-active]')?.focus({ preventScroll: true });
  });

  const first = Math.max(0, Math.floor(top / rowHeight) - SPARE);
  const shown = sorted.slice(first, Math.ceil((top + height) / rowHeight) + SPARE);
  const activeRow = sorted.find(({ id }) => id === active) ?? sorted[0];

  const move = (event: KeyboardEvent): void => {
    const element = scroller.current;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -sorted.length,
      End: sorted.length,
    };
    const step = steps[event.key];
    if (step === undefined || element === null || sorted.length === 0) return;
    event.preventDefault();
    const from = active === undefined ? -1 : sorted.findIndex(({ id }) => id === active);
    const index = Math.min(sorted.length - 1, Math.max(0, from + step));
    const start = index * rowHeight;
    if (start < element.scrollTop) element.scrollTop = start;
    else if (start + rowHeight > element.scrollTop + height) element.scrollTop = start + rowHeight - height;
    setTop(element.scrollTop);
    setActive(sorted[index]?.id);
    wantsFocus.current = true;
  };

  const sortBy = ({ id, isNumber = false }: Column<R>): void =>
    setSorting(({ column, isDown }) => ({ column: id, isDown: column === id ? !isDown : isNumber }));

  return html`<div
    class="table"
    role="table"
    aria-label=${label}
    aria-rowcount=${sorted.length + 1}
    aria-colcount=${columns.length}
  >
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex="1" class="row">
        ${columns.map(
          (column) =>
            html`<div
              role="columnheader"
              class=${cellClass(column)}
              aria-sort=${sorting.column !== column.id ? 'none' : sorting.isDown ? 'descending' : 'ascending'}
            >
              <button type="button" onClick=${() => sortBy(column)}>
                ${column.title}<span aria-hidden="true"
                  >${sorting.column !== column.id ? '' : sorting.isDown ? ' ↓' : ' ↑'}</span
                >
              </button>
            </div>`,
        )}
      </div>
    </div>
    <div
      role="rowgroup"
      class="body"
      tabindex="0"
      aria-label=${`${label}: rows; arrow keys move, Enter opens`}
      ref=${scroller}
      onKeyDown=${move}
      onScroll=${(event: Event) => setTop((event.currentTarget as HTMLElement).scrollTop)}
    >
      <div role="presentation" class="all" style=${{ height: `${String(sorted.length * rowHeight)}px` }}>
        ${shown.map(
          (row, index) =>
            html`<div
              role="row"
              key=${row.id}
              class="row"
              aria-rowindex=${first + index + 2}
              style=${{ transform: `translateY(${String((first + index) * rowHeight)}px)` }}
            >
              ${columns.map(
                (column, columnIndex) =>
                  html`<div role="cell" class=${cellClass(column)} data-title=${column.title}>
                    ${
                      columnIndex > 0
                        ? cellOf(column, row)
                        : html`<button
                            type="button"
                            class="key"
                            tabindex=${row === activeRow ? 0 : -1}
                            data-active=${row.id === active ? '' : undefined}
                            title=${row.key}
                            onClick=${() => {
                              setActive(row.id);
                              open(row);
                            }}
                          >
                            ${cellOf(column, row)}
                          </button>`
                    }
                  </div>`,
              )}
            </div>`,
        )}
      </div>
    </div>
  </div>`;
}

function cellOf<R>({ cell, by }: Column<R>, row: R): View | string {
  return cell === undefined ? String(by(row)) : cell(row);
}

function cellClass({ id, isNumber = false }: { readonly id: string; readonly isNumber?: boolean }): string {
  return `cell ${id}${isNumber ? ' number' : ''}`;
}

function sort<R extends { readonly key: string }>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  { column, isDown }: { readonly column: string; readonly isDown: boolean },
): readonly R[] {
  const by = columns.find(({ id }) => id === column)?.by;
  if (by === undefined) return rows;
  const sign = isDown ? -1 : 1;
  const compare = (one: number | string, other: number | string): number =>
    one < other ? -1 : one > other ? 1 : 0;
  return [...rows].sort((one, other) => sign * compare(by(one), by(other)) || compare(one.key, other.key));
}
