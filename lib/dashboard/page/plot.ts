import { html } from 'htm/preact';
import type { SeriesPoint } from '../wire.js';
import { count } from './format.js';
import type { View } from './view.js';

const WIDTH = 600;
const HEIGHT = 90;
const MARGIN = 4;
/** What is plotted, ms. */
const SPAN = 5 * 60_000;

/** Holds and waits of the last five minutes, as far as somebody has looked. */
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
