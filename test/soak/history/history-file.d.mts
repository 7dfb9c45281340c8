import { type HistoryEvent } from '../history-checker.mjs';

export function writeHistory(events: Iterable<HistoryEvent>, path: string): Iterable<HistoryEvent>;
