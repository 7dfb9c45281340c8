import { useEffect, useState } from 'preact/hooks';
import type { Overview } from '../wire.js';
import { readOverview, Refusal } from './api.js';
import { clock } from './format.js';

const INTERVAL = 2_000;

interface Polled {
  readonly overview: Overview | undefined;
  /** Why there is no newer one. */
  readonly trouble: string;
}

/** The overview, anew every two seconds while the page is to be seen. */
export function useOverview(isPaused: boolean): Polled {
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
      timer = setTimeout(() => void poll(), INTERVAL);
    };
    const shown = (): void => {
      if (!document.hidden) void poll();
    };
    document.addEventListener('visibilitychange', shown);
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }, [isPaused]);
  return polled;
}

function troubleOf(error: unknown, last: Overview | undefined): string {
  const since = last === undefined ? '' : ` What is shown is of ${clock(last.now)}.`;
  if (error instanceof Refusal && (error.status === 401 || error.status === 403)) {
    return `You may not see this page (any more): ${error.message}. Sign in and load it again.${since}`;
  }
  if (error instanceof Refusal)
    return `The application answered ${String(error.status)}: ${error.message}.${since}`;
  return `The application does not answer; trying again.${since}`;
}
